package observe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe/outside"
)

// named is what the line names outside of the workspace.
func (b *Baseline) named() *outside.Named {
	c, root := b.command, b.Workspace.Dir()
	line := outside.Line{
		Workspace: root, Dir: filepath.Join(root, filepath.FromSlash(c.Cwd)), Environ: os.Environ(), Text: c.Text,
		Open:   slices.DeleteFunc(slices.Clone(b.Git.Writable), func(p string) bool { return !filepath.IsAbs(p) }),
		Others: len(c.Reading.Unjudged) > 0,
	}
	git := slices.ContainsFunc(c.Reading.Programs, func(p shell.Program) bool { return p.Name == "git" })
	line.Words = slices.Concat(elsewhereInGit(root, git), c.Reading.Writes, c.Reading.Reads)
	for _, p := range c.Reading.Programs {
		// Programs that act by another user's rights.
		line.Others = line.Others || shell.Among("sudo su doas pkexec runuser docker podman systemd-run at crontab", p.Name)
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

// elsewhereInGit are the files of git that stand outside of a linked worktree, or of a submodule: what makes git run
// something, and without a git command in the line what its history is.
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
