package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// DefaultTimeout ends a program whose Hook names no time limit. It holds for each event by itself.
const DefaultTimeout = 60 * time.Second

// Hook is one program of the operator.
type Hook struct {
	// Command is a line for the shell, run in the workspace root.
	Command string
	// Tools are patterns over the whole of a tool's name: ours, that of the event, or mcp__orchestra__TOOL. "*" is every
	// tool. Without any it is every call that changes something.
	Tools []string
	// Timeout is DefaultTimeout if it is 0.
	Timeout time.Duration
}

// Options are what programs run with.
type Options struct {
	Workspace *workspace.Workspace
	// Runner runs the programs; with nil every call that a pre-hook is to judge is refused.
	Runner *command.Runner
	// KeepEnv names variables that programs get although they look like secrets.
	KeepEnv []string
}

// program is a Hook that can be run.
type program struct {
	Hook
	Options
	matchers []*regexp.Regexp
}

func newProgram(h Hook, o Options) (*program, error) {
	p := &program{Hook: h, Options: o}
	if p.Timeout == 0 {
		p.Timeout = DefaultTimeout
	}
	for _, pattern := range h.Tools {
		matcher, err := Matcher(pattern)
		if err != nil {
			return nil, err
		}
		p.matchers = append(p.matchers, matcher)
	}
	return p, nil
}

// Matcher compiles a pattern of Hook.Tools: a regular expression in RE2 syntax over the whole name, in its letter case.
func Matcher(pattern string) (*regexp.Regexp, error) {
	if pattern == "*" || pattern == "" {
		pattern = ".*"
	}
	matcher, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("the tools of a hook: %w", err)
	}
	return matcher, nil
}

// Matches reports whether one of the patterns names a tool by one of its names.
func (p *program) matches(class hooks.Class, names ...string) bool {
	if len(p.matchers) == 0 {
		return class == hooks.Destructive
	}
	return slices.ContainsFunc(p.matchers, func(m *regexp.Regexp) bool { return slices.ContainsFunc(names, m.MatchString) })
}

// wants returns the events of a call that the program is to see.
func (p *program) wants(call *hooks.Call, events []event) []event {
	return slices.DeleteFunc(events, func(e event) bool { return !p.matches(call.Class, call.Tool, e.ToolName, mcpName(call.Tool)) })
}

var errNoShell = errors.New("cannot run: this machine has no shell")

// ask gives one event to the program and returns what it came to.
func (p *program) ask(ctx context.Context, e event) (answer, error) {
	result, err := p.run(ctx, e)
	if err != nil {
		return answer{}, err
	}
	return interpret(result, e.HookEventName)
}

func (p *program) run(ctx context.Context, e event) (command.Result, error) {
	input, err := json.Marshal(e)
	if err != nil {
		return command.Result{}, err
	}
	return p.start(ctx, command.Spec{Command: p.Command, Input: append(input, '\n'), Apart: true, Unkept: true, Timeout: p.Timeout},
		"CLAUDE_PROJECT_DIR="+p.Workspace.Dir())
}

// start runs a program in the workspace root, with one variable more.
func (o *Options) start(ctx context.Context, spec command.Spec, variable string) (command.Result, error) {
	if o.Runner == nil {
		return command.Result{}, errNoShell
	}
	dir, err := o.Workspace.Root().Open(".")
	if err != nil {
		return command.Result{}, err
	}
	defer dir.Close()
	spec.Dir, spec.Env = dir, append(command.FilterEnv(os.Environ(), o.KeepEnv...), variable)
	return o.Runner.Run(ctx, spec)
}

// name is how records and refusals call the program. The line is the operator's own.
func (p *program) name() string { return "external: " + printable.Clip(printable.Text(p.Command), 200) }
