package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Failed reports whether a write or flush failed, so that nothing is taken until Reopen.
func (l *Ledger) Failed() bool { return l.broken.Load() != nil }

// Reopen ends the state that a failed write or flush has put the ledger in. The files are opened anew. What was proven
// to be on disk must still be there, all after it must be records, and it is written once more and flushed: a flush
// that failed can leave pages that count as clean and are not on disk, so neither reading them back nor a second flush
// alone would prove anything. A torn end is set aside as always.
//
// Without an error, every line in the file is as durable as Options.Durability says, those of failed appends included:
// the caller finds out with Has which of them are there. With an error (ErrUnavailable, ErrBusy, ErrClosed), nothing
// has changed and Reopen can be tried again.
func (l *Ledger) Reopen(ctx context.Context) error {
	req := newRequest()
	req.reopen = true
	return l.ask(ctx, req)
}

// heal is Reopen in the writer's goroutine.
func (l *Ledger) heal() error {
	failure := l.broken.Load()
	if failure == nil {
		return nil
	}
	unlock, _, err := l.lock(context.Background())
	if err != nil {
		return err
	}
	defer unlock()
	for _, s := range l.segments {
		if err := s.Heal(l.opts.Durability == DurabilityFull); err != nil {
			return fmt.Errorf("%w; it could not be reopened: %w", *failure, err)
		}
	}
	l.broken.Store(nil)
	l.opts.Logger.Warn().AnErr("failure", *failure).Msg("the ledger was reopened and checked after a failure, and takes records again")
	return nil
}

// clockSlack is by how much the times of a file system may be behind the system's clock.
const clockSlack = time.Minute

// notCarried are the requests of a share that was written before whose lines did not come along into the file that has
// taken the other one's place, nor into an archive. What cannot be read counts as not there: a record that stands twice
// is better than one that is lost.
func (l *Ledger) notCarried(s *share) []*request {
	wanted := map[record.Hash]bool{}
	for _, r := range s.requests {
		for _, id := range r.ids {
			wanted[id] = true
		}
	}
	_ = segment.TakeOutOf(s.segment.File, s.segment.End, wanted)
	if at, err := l.here(); err == nil && len(wanted) > 0 { // in the archives that are younger than the lines
		names, _ := segment.ArchiveNames(at.root)
		places, _ := segment.Look(at.root, names)
		places = slices.DeleteFunc(places, func(x segment.Extent) bool { return x.Info.ModTime().Before(s.begun.Add(-clockSlack)) })
		_ = segment.TakeOut(at.root, places, wanted)
	}
	var missing []*request
	for _, r := range s.requests {
		if len(r.ids) == 0 || slices.ContainsFunc(r.ids, func(id record.Hash) bool { return wanted[id] }) {
			missing = append(missing, r)
		}
	}
	return missing
}
