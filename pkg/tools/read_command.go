package tools

import (
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// read finds what the line runs and redirects to.
func (c *commandCall) read() {
	c.effect = &hooks.CommandEffect{Line: c.args.Command, Cwd: c.cwd.Path, Background: c.args.Background, Timeout: c.timeout()}
	dialect := ""
	if runner := c.Runner; runner != nil {
		c.effect.Shell, dialect = runner.Shell()
	}
	c.effect.Dialect = shell.Dialect(dialect)
	reading := shell.Read(c.args.Command, c.effect.Dialect)
	c.effect.Reading, c.effect.Background = &reading, c.effect.Background || reading.Background
	if c.cwd.Problem != nil {
		return
	}
	c.covers()
	for _, target := range reading.Writes {
		c.targets = append(c.targets, c.redirected(target))
	}
	for _, target := range reading.Reads {
		// What a command reads elsewhere is not looked at; secret paths are.
		if e := c.redirected(target); e.Problem == nil {
			e.Op = change.Read
			c.targets = append(c.targets, e)
		}
	}
	c.installs()
}

// redirected is the effect on a target of a redirection. The shell opens it by
// its name when it gets there, so the name is all that can be judged.
func (c *commandCall) redirected(name string) *hooks.FileEffect {
	at, problem := c.climbed(c.cwd.Path, name)
	if problem != nil {
		return problem
	}
	target, effect := c.target(at)
	_ = target.Close()
	return effect
}

// climbed is a name below a directory, without "..": the kernel goes up from
// where a link led to, not from where the link stands.
func (f *Files) climbed(dir, name string) (at string, problem *hooks.FileEffect) {
	if !strings.Contains("/"+name+"/", "/../") {
		if path.IsAbs(name) {
			return name, nil
		}
		return path.Join(dir, name), nil
	}
	at = dir
	if path.IsAbs(name) {
		at = "/"
	}
	for _, element := range strings.Split(name, "/") {
		if element != ".." {
			at = path.Join(at, element)
			continue
		}
		t, effect := f.directory(at)
		if effect.Problem != nil {
			return "", effect
		}
		at = path.Join(t.Path(), "..")
		_ = t.Close()
	}
	return at, nil
}

// maxPrograms bounds how many programs of a line a record names, and maxProgramName how long a name may be, in bytes.
const (
	maxPrograms    = 50
	maxProgramName = 200
)

// programs are the names of what the line can run, each once, in its order.
func (c *commandCall) programs() []string {
	var names []string
	for _, p := range c.effect.Reading.Programs {
		name := clip(p.Name, maxProgramName)
		if name != "" && !slices.Contains(names, name) && len(names) < maxPrograms {
			names = append(names, name)
		}
	}
	return names
}
