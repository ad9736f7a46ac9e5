package tools

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitignore"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// gitignoreLimit bounds a .gitignore file that is read, in bytes.
const gitignoreLimit = 1 << 20

// tree lists what is below a directory as git would see it: what .gitignore
// hides, .git itself, and the server's state are left out.
type tree struct {
	deps  *Deps
	rules map[string]gitignore.List
}

// walk visits entries sorted by path; visit may return fs.SkipAll to end it.
func (d *Deps) walk(ctx context.Context, dir *workspace.Target, recursive bool, visit func(workspace.Entry) error) error {
	t := &tree{deps: d, rules: make(map[string]gitignore.List)}
	if !recursive {
		return t.list(dir, visit)
	}
	return dir.Walk(ctx, func(e workspace.Entry) error {
		if t.hides(e) {
			if e.Kind == workspace.Directory {
				return fs.SkipDir
			}
			return nil
		}
		return visit(e)
	})
}

func (t *tree) list(dir *workspace.Target, visit func(workspace.Entry) error) error {
	entries, err := dir.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if t.hides(e) {
			continue
		}
		if err := visit(e); err != nil {
			if errors.Is(err, fs.SkipAll) {
				return nil
			}
			return err
		}
	}
	return nil
}

func (t *tree) hides(e workspace.Entry) bool {
	if strings.EqualFold(e.Name(), ".git") || below(e.Path, ".orchestration/state") || below(e.Path, ".orchestration/cache") {
		return true
	}
	_, ignored := t.rulesOf(path.Dir(e.Path)).Match(e.Path, e.Kind == workspace.Directory)
	return ignored
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// rulesOf are the rules that hold in a directory: those above it, then its
// own, rewritten as rules of the root. Rules that do not parse hide nothing.
func (t *tree) rulesOf(dir string) gitignore.List {
	if rules, ok := t.rules[dir]; ok {
		return rules
	}
	var rules gitignore.List
	if dir != "." {
		rules = t.rulesOf(path.Dir(dir))
	}
	rules = rules[:len(rules):len(rules)]
	for line := range strings.Lines(t.readRules(dir)) {
		if rule, ok, err := gitignore.Parse(reanchor(dir, strings.TrimRight(line, "\r\n"))); ok && err == nil {
			rules = append(rules, rule)
		}
	}
	t.rules[dir] = rules
	return rules
}

func (t *tree) readRules(dir string) string {
	target, err := t.deps.Workspace.Resolve(path.Join(dir, ".gitignore"))
	if err != nil {
		return ""
	}
	defer target.Close()
	content, err := target.Read(gitignoreLimit)
	if err != nil {
		return ""
	}
	return string(content.Bytes)
}

// reanchor rewrites a line of dir's .gitignore so that it means the same in
// the root's.
func reanchor(dir, line string) string {
	if dir == "." || line == "" || line[0] == '#' {
		return line
	}
	bang := ""
	if line[0] == '!' {
		bang, line = "!", line[1:]
	}
	prefix := "/" + escapeGlob(dir) + "/"
	if !strings.Contains(strings.TrimSuffix(strings.TrimRight(line, " "), "/"), "/") {
		prefix += "**/"
	}
	return bang + prefix + strings.TrimPrefix(line, "/")
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `).Replace(s)
}

// directory resolves a directory argument; "" is the workspace root.
func (d *Deps) directory(requested string) (*workspace.Target, *hooks.FileEffect) {
	if requested == "" {
		requested = "."
	}
	effect := &hooks.FileEffect{Kind: hooks.Read, Directory: true, Path: requested, Requested: requested}
	t, err := d.Workspace.ResolveDir(requested)
	if err != nil {
		effect.Problem = pathProblem(requested, err)
		if errors.Is(err, workspace.ErrNotExist) {
			effect.Problem = refusal.Newf(refusal.FileNotFound, "The directory %q does not exist.", clip(requested, 300)).With("path", clip(requested, 300))
		}
		return nil, effect
	}
	effect.Path, effect.Protection = t.Path(), t.Protection()
	return t, effect
}
