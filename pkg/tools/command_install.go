package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command/install"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
)

// installs adds the manifests and lock files of install commands to what the
// line writes: they are in scope, or asked about once, before anything runs.
func (c *commandCall) installs() {
	c.install = install.Find(c.Workspace.Dir(), c.cwd.Path, c.effect.Reading)
	if c.install == nil {
		return
	}
	purpose := fmt.Sprintf("Install dependencies (%s)", strings.Join(c.install.Commands, ", "))
	for _, name := range c.install.Files {
		target, effect := c.target(name)
		_ = target.Close()
		known := slices.ContainsFunc(c.targets, func(f *hooks.FileEffect) bool { return f.Mutates() && f.Path == effect.Path })
		if effect.Problem == nil && !known {
			effect.Purpose = purpose
			c.targets = append(c.targets, effect)
		}
	}
}

func packagesOf(o *hooks.Outcome) map[string]*observe.Packaged {
	counts, _ := o.Command.Detail[observe.DetailPackages].(map[string]*observe.Packaged)
	return counts
}

// listPackages shows them in the text of a result.
func listPackages(b *strings.Builder, counts map[string]*observe.Packaged) {
	for _, place := range slices.Sorted(maps.Keys(counts)) {
		n := counts[place]
		note(b, "[packages in %s: %d files created, %d modified, %d deleted]", printable.Name(place), n.Created, n.Modified, n.Deleted)
	}
}
