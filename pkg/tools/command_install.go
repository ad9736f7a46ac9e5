package tools

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/command/install"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
)

// installs adds the manifests and lock files of install commands to what the
// line writes: they are in scope, or asked about once, before anything runs.
func (c *commandCall) installs() {
	c.install = install.Find(c.tool.deps.Workspace.Dir(), c.cwd.Path, c.effect.Reading)
	if c.install == nil {
		return
	}
	purpose := fmt.Sprintf("Install dependencies (%s)", strings.Join(c.install.Commands, ", "))
	for _, name := range c.install.Files {
		target, effect := c.tool.deps.target(name)
		if target != nil {
			_ = target.Close()
		}
		known := slices.ContainsFunc(c.targets, func(f *hooks.FileEffect) bool { return f.Mutates() && f.Path == effect.Path })
		if effect.Problem == nil && !known {
			effect.Purpose = purpose
			c.targets = append(c.targets, effect)
		}
	}
}

// packages says of the package directories that changed what the user has to
// know: what git would take for sources.
func (a *account) packages(ctx context.Context) {
	counts, _ := a.Detail[trace.DetailPackages].(map[string]*trace.Packaged)
	for _, place := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[place].ProgramConfig; n > 0 {
			a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("The packages in %s have %d files that make other programs run code where that directory is opened by itself (.vscode, .mcp.json and their like).", inNote(place), n))
		}
		if a.wouldBeAdded(ctx, place) {
			a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("git does not ignore %s, so git add would take the packages: add the line %q to .gitignore.", inNote(place), path.Base(place)+"/"))
		}
	}
}

// wouldBeAdded reports whether git add would take something in a package
// directory; an environment of Python can ignore itself.
func (a *account) wouldBeAdded(ctx context.Context, place string) bool {
	seen, err := gitread.Repository{Dir: a.deps.Workspace.Dir()}.Ask(ctx, "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "--", place)
	return err == nil && seen != ""
}

func packagesOf(o *hooks.Outcome) map[string]*trace.Packaged {
	counts, _ := o.Command.Detail[trace.DetailPackages].(map[string]*trace.Packaged)
	return counts
}

// listPackages shows them in the text of a result.
func listPackages(b *strings.Builder, counts map[string]*trace.Packaged) {
	for _, place := range slices.Sorted(maps.Keys(counts)) {
		n := counts[place]
		note(b, "[packages in %s: %d files created, %d modified, %d deleted]", inNote(place), n.Created, n.Modified, n.Deleted)
	}
}
