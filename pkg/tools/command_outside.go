package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/outside"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
)

// outside is what the line names outside of the workspace.
func (c *commandCall) outside() *outside.Named {
	d, root := c.tool.deps, c.tool.deps.Workspace.Dir()
	line := outside.Line{
		Workspace: root, Dir: filepath.Join(root, filepath.FromSlash(c.cwd.Path)), Environ: os.Environ(),
		Text: c.args.Command, Open: slices.DeleteFunc(slices.Clone(d.Confine.Writable), func(p string) bool { return !filepath.IsAbs(p) }),
	}
	line.Words = elsewhereInGit(root, runsGit(c.effect.Reading))
	r := c.effect.Reading
	if r == nil {
		return outside.Name(line)
	}
	line.Words = slices.Concat(line.Words, r.Writes, r.Reads)
	line.Others = len(r.Unjudged) > 0
	for _, p := range r.Programs {
		line.Others = line.Others || asOthers(p.Name)
		line.Words = append(line.Words, p.Path)
		for _, a := range p.Args {
			switch at := strings.LastIndex(a.Text, "/"); {
			case a.Exact:
				line.Words = append(line.Words, a.Text)
			case at >= 0: // of a pattern the directory
				line.Words = append(line.Words, a.Text[:at+1])
			}
		}
	}
	return outside.Name(line)
}

// elsewhereInGit are the files of git that stand outside of a linked worktree,
// or of a submodule: what makes git run something, and without a git command in
// the line what its history is.
func elsewhereInGit(root string, git bool) []string {
	own, common := gitElsewhere(root)
	if own == "" {
		return nil
	}
	names := []string{filepath.Join(common, "hooks"), filepath.Join(common, "config"), filepath.Join(own, "config.worktree")}
	if !git {
		names = append(names, filepath.Join(own, "HEAD"), filepath.Join(common, "packed-refs"), filepath.Join(common, "refs", "heads"), filepath.Join(common, "refs", "tags"))
	}
	return names
}

// asOthers knows programs that act by another user's rights.
func asOthers(program string) bool {
	return slices.Contains([]string{"sudo", "su", "doas", "pkexec", "runuser", "docker", "podman", "systemd-run", "at", "crontab"}, program)
}

// outside makes violations of what changed outside of the workspace: of the
// watched places, and of what the line names.
func (a *account) outside() {
	changes := outside.Look(a.deps.Outside()).Changes(a.around.places)
	named, short := a.around.named.Changes()
	for _, c := range named {
		// Landlock lets nothing be made, removed, or made longer or shorter there.
		possible := a.level != sandbox.Landlock || c.Op == change.Modified && c.Kept
		known := slices.ContainsFunc(changes, func(other outside.Change) bool { return other.Name == c.Name })
		if possible && !known {
			changes = append(changes, c)
		}
	}
	for _, c := range changes {
		reason := "it is outside of the workspace; this server only looks whether it changed, and does not undo it"
		if c.Metadata {
			reason = "its metadata; " + reason
		}
		a.also(hooks.Violation{Path: trace.Shown(c.Name), Op: c.Op, Kind: hooks.Outside, Reason: reason})
	}
	if len(short) == 0 {
		return
	}
	for _, dir := range short {
		a.Note(trace.DetailGaps, trace.Shown(dir)+": too much is in it to look at all of it")
	}
	if a.nothingHolds() {
		a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("Not all of %s, which the line names, was looked at: what the command changed there is not all known.", inNote(trace.Shown(short[0]))))
	}
}
