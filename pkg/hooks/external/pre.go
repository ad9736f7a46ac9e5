package external

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

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
