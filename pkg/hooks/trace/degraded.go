package trace

import (
	"context"
	"errors"
	"fmt"
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

// entry is what the journal has of a call.
type entry interface {
	Done()
	Void()
	Doubt() error
	Stands(doubt bool) error
	Leave()
}

var _ entry = (*journal.Inflight)(nil)

// noEntry stands for the entry of a call that goes through although the
// journal cannot be written. A crash in its middle is not settled.
type noEntry struct{}

func (noEntry) Done()             {}
func (noEntry) Void()             {}
func (noEntry) Doubt() error      { return nil }
func (noEntry) Stands(bool) error { return nil }
func (noEntry) Leave()            {}
