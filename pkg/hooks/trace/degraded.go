package trace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Close gives up the count of unrecorded calls: it is told by whoever writes to the ledger next.
func (r *Recorder) Close() {
	r.gap.mu.Lock()
	defer r.gap.mu.Unlock()
	if r.gap.file != nil {
		r.gap.file.Close()
		r.gap.file = nil
	}
}

// Writable says why a call would be refused now, because nothing can be recorded. After a failure it reopens and checks
// the ledger; so the first call after the cause is gone finds it in order.
func (r *Recorder) Writable(ctx context.Context) error {
	r.Journal.Reopen()
	if r.Ledger.Failed() {
		if err := r.Ledger.Reopen(ctx); err != nil && !r.lets(err) {
			return err
		}
	}
	if err := r.Ledger.Writable(ctx); err != nil && !r.lets(err) {
		return err
	}
	if err := r.withheld.first(ctx); err != nil && !r.lets(err) {
		return err
	}
	return nil
}

// Query asks the ledger, with what git has fetched of others' records.
func (r *Recorder) Query(ctx context.Context, f record.Filter) (ledger.Result, error) {
	r.Bring(ctx)
	return r.Ledger.Query(ctx, f)
}

// lets reports whether a call goes through although nothing can be written
// down. What passes by itself (BUSY) is waited for and refused all the same.
func (r *Recorder) lets(err error) bool {
	return r.Degraded && (errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, journal.ErrUnavailable))
}

// missed counts a call whose record could not be written, and warns.
func (r *Recorder) missed(outcome *hooks.Outcome, recordID string, cause error) {
	calls, since := r.gap.add(missedCall{At: time.Now(), Record: recordID})
	r.settled.Store(false)
	outcome.Warnings = append(outcome.Warnings, fmt.Sprintf(
		"NOT RECORDED: the ledger cannot be written (%v). %d calls since %s have no record; the next record counts them. Tell the user.",
		cause, calls, since.UTC().Format(time.RFC3339)))
}

// Lost counts a decision whose record could not be written. Its call changed
// nothing; but what the ledger lacks has to be seen.
func (r *Recorder) Lost(recordID string) {
	r.gap.add(missedCall{At: time.Now(), Record: recordID, Decision: true})
	r.settled.Store(false)
}

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
