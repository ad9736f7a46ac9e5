package native

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// ours is a client's call as one of this server's.
type ours struct {
	tool hooks.Tool
	args map[string]any
	// beyond: all that it does lies where this server has no say, which leaves it to the client.
	beyond bool
}

// translate makes a call of a file tool ours. Of an action that is none it gives the zero value.
func (d *Desk) translate(e clienthook.Event) ours {
	named := func(tool string, args map[string]any) ours { return ours{tool: d.files[tool], args: args} }
	switch a := e.Action.(type) {
	case clienthook.Write:
		return d.within(e, named("write_to_file", map[string]any{"path": d.path(e, a.Path), "content": a.Content}), a.Path)
	case clienthook.Edit:
		return d.within(e, d.edit(e, a), a.Path)
	case clienthook.Patch:
		return named("apply_patch", map[string]any{"patch": d.patch(e, a.Text)})
	case clienthook.Change:
		return d.within(e, ours{tool: tools.Touching(d.Tools.Files, d.paths(e, a.Paths), false)}, a.Paths...)
	case clienthook.Delete:
		return d.within(e, ours{tool: tools.Touching(d.Tools.Files, d.paths(e, a.Paths), true)}, a.Paths...)
	case clienthook.Read:
		args := map[string]any{"path": d.path(e, a.Path)}
		if a.From > 0 {
			args["offset"] = a.From
		}
		if a.Lines > 0 {
			args["limit"] = a.Lines
		}
		call := named("read_file", args)
		call.beyond = d.outside(e, a.Path)
		return call
	case clienthook.Look:
		tool := "list_files"
		if d.isFile(e, a.Path) {
			tool = "read_file"
		}
		call := named(tool, map[string]any{"path": d.path(e, a.Path)})
		call.beyond = d.outside(e, a.Path)
		return call
	}
	return ours{}
}

func (d *Desk) isFile(e clienthook.Event, path string) bool {
	t, err := d.Tools.Files.Workspace.ResolveDir(d.path(e, path))
	if err != nil {
		return false
	}
	defer t.Close()
	return t.Kind() == workspace.Regular
}

// showsSecrets refuses a search of contents that could show what is secret: the client does not leave it out, as search_files does.
func (d *Desk) showsSecrets(e clienthook.Event) *refusal.Refusal {
	a, is := e.Action.(clienthook.Look)
	if !is || !a.Contents || d.isFile(e, a.Path) {
		return nil
	}
	if ignore, err := d.Tools.Intents.Store.Ignore(); err == nil && !ignore.Kinds().Secrets {
		return nil
	}
	return refusal.New(refusal.IntentignorePathBlocked, "This workspace has paths that are secret (.intentignore), and a search by the client itself would show what stands in them.").
		WithHint(refusal.HintFollowConstraints).Suggest("Call search_files of the MCP server orchestra, which leaves them out; or search in one file.")
}

// edit is one of several replacements, or the ordinary one.
func (d *Desk) edit(e clienthook.Event, a clienthook.Edit) ours {
	path := d.path(e, a.Path)
	if len(a.Replaces) == 1 {
		r := a.Replaces[0]
		return ours{tool: d.files["edit_file"], args: map[string]any{"path": path, "old_string": r.Old, "new_string": r.New, "replace_all": r.All}}
	}
	edits := []map[string]any{}
	for _, r := range a.Replaces {
		edits = append(edits, map[string]any{"old_string": r.Old, "new_string": r.New, "replace_all": r.All})
	}
	return ours{tool: d.files["edits"], args: map[string]any{"path": path, "edits": edits}}
}

// patch has the paths of a patch read from where the client reads them.
func (d *Desk) patch(e clienthook.Event, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, is := strings.CutPrefix(line, head); is {
				line = head + d.path(e, strings.TrimRight(path, "\r\n")) + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// within leaves to the client what it keeps for itself outside of the workspace.
func (d *Desk) within(e clienthook.Event, call ours, paths ...string) ours {
	call.beyond = len(paths) > 0
	for _, p := range paths {
		call.beyond = call.beyond && d.outside(e, p) && d.private(e.Client, d.path(e, p))
	}
	return call
}

func (d *Desk) paths(e clienthook.Event, all []string) []string {
	paths := make([]string, len(all))
	for i, p := range all {
		paths[i] = d.path(e, p)
	}
	return paths
}

// path is a path in the client's words as an absolute one, with slashes.
func (d *Desk) path(e clienthook.Event, p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = d.Home + p[1:]
	}
	if runtime.GOOS == "windows" && len(p) > 2 && p[0] == '/' && p[2] == ':' { // /c:/…
		p = p[1:]
	}
	if p != "" && !filepath.IsAbs(filepath.FromSlash(p)) {
		// Not cleaned: what ".." leads to is the workspace's to find out.
		p = strings.TrimRight(d.cwd(e), "/") + "/" + p
	}
	if p == "" {
		p = d.cwd(e)
	}
	return filepath.ToSlash(p)
}

// cwd is where the client makes the call.
func (d *Desk) cwd(e clienthook.Event) string {
	if e.Cwd == "" {
		return filepath.ToSlash(d.Dir)
	}
	return filepath.ToSlash(e.Cwd)
}

// outside reports whether a path leads out of the workspace.
func (d *Desk) outside(e clienthook.Event, path string) bool {
	t, err := d.Tools.Files.Workspace.ResolveDir(d.path(e, path))
	if err != nil {
		return errors.Is(err, workspace.ErrOutside)
	}
	_ = t.Close()
	return false
}

// privatePlaces are where a client keeps what is its own alone, below the home directory, by patterns of path.Match: its plans
// and its memory. Settings, hooks, agents and skills are not among them: they decide what the client does.
func privatePlaces(c clienthook.Client) []string {
	if c == clienthook.ClaudeCode {
		return []string{".claude/plans", ".claude/projects/*/memory"}
	}
	return nil
}

// private reports whether a path lies in such a place, wherever links lead.
func (d *Desk) private(c clienthook.Client, path string) bool {
	real := resolved(filepath.Clean(filepath.FromSlash(path)))
	home, err := filepath.EvalSymlinks(d.Home)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(home, real)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
		for _, place := range privatePlaces(c) {
			if is, _ := filepath.Match(filepath.FromSlash(place), dir); is {
				return true
			}
		}
	}
	return false
}

// resolved follows the links of what exists of a path.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if _, there := os.Lstat(path); there == nil || parent == path {
		return "" // a link that leads nowhere
	}
	if parent = resolved(parent); parent == "" {
		return ""
	}
	return filepath.Join(parent, filepath.Base(path))
}
