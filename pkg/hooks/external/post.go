package external

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// Post tells a program of a call that was carried out.
type Post struct{ program *program }

var _ hooks.PostHook = (*Post)(nil)

// NewPost makes a post-hook. The error is about a pattern of Hook.Tools.
func NewPost(h Hook, o Options) (*Post, error) {
	p, err := newProgram(h, o)
	if err != nil {
		return nil, err
	}
	return &Post{p}, nil
}

// Name implements hooks.PostHook.
func (h *Post) Name() string { return h.program.name() }

// After implements hooks.PostHook: what the program says becomes warnings, and its failures are joined into the error.
func (h *Post) After(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
	p := h.program
	var said []string
	var failures []error
	for _, e := range p.wants(call, describer{p.Workspace, call, postToolUse}.done(outcome)) {
		if ctx.Err() != nil {
			failures = append(failures, errors.New("was not told: the call was cancelled"))
			break
		}
		result, err := p.run(ctx, e)
		var a answer
		if err == nil {
			a, err = interpret(result, postToolUse)
		}
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
