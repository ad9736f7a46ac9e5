package external

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

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
