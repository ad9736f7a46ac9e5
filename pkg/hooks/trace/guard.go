package trace

import (
	"context"
	"fmt"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// withheld are reasons why nothing may be changed now that a call found and that last.
type withheld struct {
	mu     sync.Mutex
	checks []func(ctx context.Context) error
}

// Withhold has every change refused until check gives no error any more. It is
// asked before each change. With ledger.on_failure degraded changes go on.
func (r *Recorder) Withhold(check func(ctx context.Context) error) {
	r.withheld.mu.Lock()
	defer r.withheld.mu.Unlock()
	r.withheld.checks = append(r.withheld.checks, check)
}

// first is the first reason that still holds; those that do not are dropped.
func (w *withheld) first(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.checks) > 0 {
		if err := w.checks[0](ctx); err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
		}
		w.checks = w.checks[1:]
	}
	return nil
}

// Guard notes how the ledger ends before a command. What it returns finds, after the command, what of it is gone, and
// says so; "" where all is there. Then the next record follows what is gone, and changes are withheld until it is back.
// git: the command may have put another branch's ledger in its place, which loses nothing that the first branch has.
func (r *Recorder) Guard(ctx context.Context) (lost func(ctx context.Context, git bool) string, err error) {
	nothing := func(context.Context, bool) string { return "" }
	if r.uninitialized(ctx) {
		return nothing, nil
	}
	mark, err := r.Ledger.Mark(ctx)
	switch {
	case r.lets(err):
		return nothing, nil
	case err != nil:
		return nil, err
	}
	return func(ctx context.Context, git bool) string {
		elsewhere := r.Elsewhere
		if !git {
			elsewhere = nil
		}
		loss, err := mark.Lost(ctx, elsewhere)
		switch {
		case err != nil:
			return fmt.Sprintf("whether the ledger still has what it had could not be found out (%v)", err)
		case loss == nil:
			return ""
		}
		loss.Follow()
		r.Withhold(func(ctx context.Context) error {
			if loss.Back(ctx) {
				return nil
			}
			return fmt.Errorf("a command took records away from it: %s is gone. Ask the user to run `orchestra-mcp verify`, and "+
				"`orchestra-mcp ledger restore`, which brings back what git has, or to put it back from another copy. To go on without it, "+
				"the user restarts the server; `verify` then goes on to miss it", loss)
		})
		return "the ledger no longer has " + loss.String()
	}, nil
}
