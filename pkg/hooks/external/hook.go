package external

import (
	"cmp"
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
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
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
	return p.Run(ctx, command.Spec{Command: p.Command, Input: append(input, '\n'), Apart: true, Unkept: true, Timeout: p.Timeout},
		"CLAUDE_PROJECT_DIR="+p.Workspace.Dir())
}

// Run runs a program of the operator in the workspace root, with more variables.
func (o *Options) Run(ctx context.Context, spec command.Spec, variables ...string) (command.Result, error) {
	if o.Runner == nil {
		return command.Result{}, errNoShell
	}
	dir, err := o.Workspace.Root().Open(".")
	if err != nil {
		return command.Result{}, err
	}
	defer dir.Close()
	spec.Dir, spec.Env = dir, append(command.FilterEnv(os.Environ(), o.KeepEnv...), variables...)
	return o.Runner.Run(ctx, spec)
}

// name is how records and refusals call the program. The line is the operator's own.
func (p *program) name() string { return "external: " + printable.Clip(printable.Text(p.Command), 200) }

// NewPre makes a pre-hook that asks a program before a call. It judges the plan and is idempotent as far as the program is.
// The error is about a pattern of Hook.Tools.
func NewPre(h Hook, o Options) (hooks.PreHook, error) {
	p, err := newProgram(h, o)
	if err != nil {
		return nil, err
	}
	return hooks.PreFunc(p.name(), p.before), nil
}

// before asks about each file. The first that is refused ends it; a question is put only if no other file is refused.
func (p *program) before(ctx context.Context, call *hooks.Call) (hooks.Decision, error) {
	var notes []string
	var question *refusal.Refusal
	for _, e := range p.wants(call, describer{p.Workspace, call, preToolUse}.planned()) {
		a, err := p.ask(ctx, e)
		switch {
		case ctx.Err() != nil:
			return hooks.Refuse(refusal.New(refusal.Cancelled, "The call was cancelled while a hook was judging it.")), nil
		case err != nil:
			return hooks.Refuse(p.failed(err, e)), nil
		case a.verdict == deny:
			return hooks.Refuse(p.denied(a, e)), nil
		case a.verdict == ask && question == nil:
			question = p.question(a, e)
		}
		notes = appendNew(notes, a.notes...)
	}
	if question != nil {
		return hooks.Ask(hooks.PolicyAsk, question), nil
	}
	return hooks.Allow(notes...), nil
}

func (p *program) failed(err error, e event) *refusal.Refusal {
	return p.about(e, refusal.Newf(refusal.HookBlocked, "The hook %q of the settings %v; the call was not carried out.", p.Command, err))
}

func (p *program) denied(a answer, e event) *refusal.Refusal {
	r := refusal.Newf(refusal.HookBlocked, "The hook %q of the settings refuses %s: %s", p.Command, e.what(), orNone(a.reason))
	if len(a.notes) > 0 {
		r = r.With("notes", a.notes)
	}
	return p.about(e, r).With("denied", true).
		Suggest("Do it in a way that the hook's reason allows. If there is none, ask the user.")
}

func (p *program) question(a answer, e event) *refusal.Refusal {
	return p.about(e, refusal.Newf(refusal.ApprovalRequired, "The hook %q of the settings wants the operator asked about %s: %s", p.Command, e.what(), orNone(a.reason)))
}

func (p *program) about(e event, r *refusal.Refusal) *refusal.Refusal {
	r = r.With("hook", p.Command)
	if e.Orchestra.Path != "" {
		r = r.With("path", e.Orchestra.Path)
	}
	return r
}

// what names the event in a sentence.
func (e event) what() string {
	switch {
	case e.Orchestra.Path != "":
		return fmt.Sprintf("%s of %s", e.ToolName, e.Orchestra.Path)
	case e.ToolName == toolBash:
		return "the command"
	}
	return "the call of " + e.Orchestra.Tool
}

func orNone(reason string) string { return cmp.Or(reason, "it gives no reason.") }

// appendNew keeps one of each: a program says the same about every file.
func appendNew(notes []string, more ...string) []string {
	for _, note := range more {
		if len(notes) < maxNotes && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// maxNotes bounds what one program says about one call.
const maxNotes = 20

// NewPost makes a post-hook that tells a program of a call that was carried out. The error is about a pattern of Hook.Tools.
func NewPost(h Hook, o Options) (hooks.PostHook, error) {
	p, err := newProgram(h, o)
	if err != nil {
		return nil, err
	}
	return hooks.PostFunc(p.name(), p.after), nil
}

// after tells of each file: what the program says becomes warnings, and its failures are joined into the error.
func (p *program) after(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
	var said []string
	var failures []error
	for _, e := range p.wants(call, describer{p.Workspace, call, postToolUse}.done(outcome)) {
		if ctx.Err() != nil {
			failures = append(failures, errors.New("was not told: the call was cancelled"))
			break
		}
		a, err := p.ask(ctx, e)
		if err != nil {
			failures = append(failures, err)
			break
		}
		if a.verdict == deny {
			said = appendNew(said, fmt.Sprintf("The hook %q objects to %s, which stands: %s", p.Command, e.what(), orNone(a.reason)))
		}
		said = appendNew(said, a.notes...)
	}
	outcome.Warnings = append(outcome.Warnings, said...)
	return errors.Join(failures...)
}

// Again is the post-hook behind all programs: it warns of files that are not any more what the call wrote, as a formatter
// leaves them.
func Again(w *workspace.Workspace, limit int64) hooks.PostHook {
	return hooks.PostFunc("changed again", func(_ context.Context, _ *hooks.Call, outcome *hooks.Outcome) error {
		for _, f := range outcome.Changed() {
			if now := hashNow(w, f.Path, limit); f.After.Hash != "" && now != "" && now != f.After.Hash {
				outcome.Warnings = append(outcome.Warnings, fmt.Sprintf(
					"%s was changed again behind the call, as by a hook or a check that formats it: it is %s now. Call read_file before you change it further.", f.Path, now))
			}
		}
		return nil
	})
}

// hashNow is "" where the file cannot be read.
func hashNow(w *workspace.Workspace, path string, limit int64) string {
	t, err := w.Resolve(path)
	if err != nil {
		return ""
	}
	defer t.Close()
	content, err := t.Read(limit)
	if err != nil {
		return ""
	}
	return content.Hash
}
