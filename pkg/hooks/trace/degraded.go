package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Close gives up what finds the changes of commands, and the count of unrecorded calls: it is told by whoever writes to
// the ledger next.
func (r *Recorder) Close() {
	r.snapshots.Close()
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
	reopened := func(ctx context.Context) error {
		if r.Ledger.Failed() {
			return r.Ledger.Reopen(ctx)
		}
		return nil
	}
	for _, check := range []func(context.Context) error{reopened, r.Ledger.Writable, r.withheld.first} {
		if err := check(ctx); err != nil && !r.lets(err) {
			return err
		}
	}
	return nil
}

// Query asks the ledger, with what git has fetched of others' records.
func (r *Recorder) Query(ctx context.Context, f record.Filter) (ledger.Result, error) {
	r.Bring(ctx)
	return r.Ledger.Query(ctx, f)
}

// Recent is Query for some of the newest at once; see [ledger.Ledger.Recent].
func (r *Recorder) Recent(ctx context.Context, f record.Filter) (found ledger.Result, whole bool, err error) {
	r.Bring(ctx)
	return r.Ledger.Recent(ctx, f)
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

// Lost counts a decision whose record could not be written. Its call changed nothing; but what the ledger lacks has to be seen.
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

const (
	gapDir    = "gaps"
	gapSuffix = ".gap"
	maxGap    = 16 << 20 // bytes of a file that is read back
)

// gap counts what went through without a record (ledger.on_failure: degraded), and decisions that were lost, until a record can
// tell. The count is in memory, and as far as that can be written in .orchestration/state/gaps/<id>.gap, a line for each call,
// whose lock is held for as long as this process lives. So whoever writes to the ledger next after a crash counts for the dead
// too. Where nothing at all can be written, the end of the process forgets the count; the log has said so.
type gap struct {
	state func() (*os.Root, error)
	log   zerolog.Logger

	mu     sync.Mutex
	id     string // of the file, and of the record that will tell
	missed []missedCall
	file   *os.File
}

// missedCall is a line of a gap's file.
type missedCall struct {
	At time.Time `json:"at"`
	// Record is the id of the record that was not acknowledged, and may be in the ledger all the same.
	Record string `json:"record,omitempty"`
	// Decision: it is the record of a refusal or a question.
	Decision bool `json:"decision,omitempty"`
}

// add counts one call, and returns how many there are since when.
func (g *gap) add(m missedCall) (calls int, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.missed) == 0 {
		g.id = uuid.NewString()
	}
	g.missed = append(g.missed, m)
	if err := g.write(m); err != nil {
		g.log.Error().Err(err).Int("calls", len(g.missed)).Msg("the count of unrecorded calls could not be written and ends with this process")
	}
	return len(g.missed), g.missed[0].At
}

func (g *gap) write(m missedCall) error {
	if g.file == nil {
		if err := g.open(); err != nil {
			return err
		}
	}
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = g.file.Write(append(line, '\n'))
	return errors.Join(err, g.file.Sync())
}

func (g *gap) open() error {
	dir, err := g.dir(0o700)
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := dir.OpenFile(g.id+gapSuffix, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if free, err := durable.TryLock(file); err != nil && !errors.Is(err, durable.ErrUnsupported) || err == nil && !free {
		file.Close()
		return errors.Join(errors.New("its file was taken for a dead process's"), err)
	}
	g.file = file
	return nil
}

func (g *gap) dir(perm fs.FileMode) (*os.Root, error) {
	state, err := g.state()
	if err != nil {
		return nil, err
	}
	defer state.Close()
	return durable.OpenOwn(state, gapDir, perm)
}

// settleGaps records what went through unrecorded, here and in processes that are gone. Each gap is one record with an
// id of its own, so that a crash in between tells no gap twice.
func (r *Recorder) settleGaps(ctx context.Context) error {
	r.gap.mu.Lock()
	defer r.gap.mu.Unlock()
	if err := r.tellGap(ctx, r.gap.id, r.gap.missed); err != nil {
		return err
	}
	dir, err := r.gap.dir(0)
	switch {
	case err == nil:
		defer dir.Close()
		if err := r.settleDeadGaps(ctx, dir); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		r.Logger.Warn().Err(err).Msg("unrecorded calls of other processes cannot be counted")
	}
	if g := &r.gap; g.file != nil { // this process's gap has been told
		if dir != nil {
			_ = dir.Remove(g.id + gapSuffix) // else it is found to be told
		}
		g.file.Close()
	}
	r.gap.id, r.gap.missed, r.gap.file = "", nil, nil
	return nil
}

func (r *Recorder) settleDeadGaps(ctx context.Context, dir *os.Root) error {
	entries, err := durable.ReadDirectoryIn(dir, ".")
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), gapSuffix)
		if err == nil && ok && id != r.gap.id && uuid.Validate(id) == nil {
			err = r.settleDeadGap(ctx, dir, id)
		}
	}
	return err
}

func (r *Recorder) settleDeadGap(ctx context.Context, dir *os.Root, id string) error {
	file, info, err := durable.OpenRegularIn(dir, id+gapSuffix, os.O_RDWR)
	if err != nil {
		return nil // another process was faster, or it is none of ours
	}
	defer file.Close()
	if dead, err := durable.TryLock(file); err == nil && !dead {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(file, maxGap))
	if err != nil {
		return fmt.Errorf("count unrecorded calls: %w", err)
	}
	if err := r.tellGap(ctx, id, parseGap(content, info.ModTime())); err != nil {
		return err
	}
	return dir.Remove(id + gapSuffix)
}

// parseGap counts every line, also one that cannot be read.
func parseGap(content []byte, fallback time.Time) []missedCall {
	var missed []missedCall
	for line := range bytes.Lines(content) {
		var m missedCall
		if json.Unmarshal(line, &m) != nil || m.At.IsZero() {
			m = missedCall{At: fallback}
		}
		missed = append(missed, m)
	}
	return missed
}

// tellGap writes the record of a gap, unless it is there. Records of which the
// append failed and that are in the ledger all the same are not counted.
func (r *Recorder) tellGap(ctx context.Context, id string, missed []missedCall) error {
	if len(missed) == 0 {
		return nil
	}
	ids := []string{id}
	for _, m := range missed {
		if m.Record != "" {
			ids = append(ids, m.Record)
		}
	}
	recorded, err := r.has(ctx, ids)
	if err != nil {
		return err
	}
	var calls, decisions int64
	for _, m := range missed {
		switch {
		case recorded[m.Record]:
		case m.Decision:
			decisions++
		default:
			calls++
		}
	}
	if recorded[id] || calls+decisions == 0 {
		return nil
	}
	detail := map[string]any{
		"calls": calls,
		"since": moment(missed[0].At),
		"until": moment(missed[len(missed)-1].At),
	}
	if decisions > 0 {
		detail["decisions"] = decisions
	}
	draft, err := r.Ledger.DraftAs(id, record.Record{Kind: record.KindRecovered, Detail: map[string]any{
		"gap":    detail,
		"reason": "the ledger could not be written: the calls took effect (ledger.on_failure is degraded) and the decisions were made, and have no record",
	}})
	if err != nil {
		return err
	}
	_, err = r.Ledger.AppendDraft(ctx, draft)
	return busy(err)
}
