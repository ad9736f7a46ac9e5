package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// followEvery is how often Follow looks for new lines. Notifications of the system would not come from every file
// system, and would not say more than that it is time to look.
const followEvery = 200 * time.Millisecond

// Tail is a place in the ledger: behind everything that was there when it was taken. A caller who shows what there is
// and then what comes takes the tail first, so that nothing falls between; what came in between is then in both.
type Tail struct {
	ledger *Ledger
	root   *os.Root  // where the ledger stood at the last look
	since  time.Time // lines of a rewritten segment count as new from here on
	places map[string]readTo
	given  map[record.Hash]struct{}
}

// readTo is how far a segment has been read, and the file then.
type readTo struct {
	segment.Reached
	info fs.FileInfo
	// byAge: the segment was read from its start while following. Git writes a file in pieces, so its growth alone
	// does not make a line new.
	byAge bool
}

// Tail gives the end of the ledger as it is now.
func (l *Ledger) Tail(ctx context.Context) (*Tail, error) {
	t, _, err := l.tail(ctx, func(string) bool { return false })
	if err != nil {
		return nil, fmt.Errorf("follow the ledger: %w", err)
	}
	return t, ctx.Err()
}

// tail passes over the archives that are known.
func (l *Ledger) tail(ctx context.Context, known func(archive string) bool) (t *Tail, passed []string, err error) {
	_ = l.Flush(ctx)
	t = &Tail{ledger: l, since: l.opts.Clock().Truncate(time.Millisecond), places: map[string]readTo{}, given: map[record.Hash]struct{}{}}
	places, err := t.extents(ctx, known)
	if err != nil {
		return nil, nil, err
	}
	for _, place := range places {
		if place.Archived() && known(place.Name) {
			passed = append(passed, place.Name)
			continue
		}
		if t.places[place.Name], err = t.lastLine(place); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", place.Name, err)
		}
	}
	return t, passed, nil
}

// Ends are the hashes of the last lines, hex: a record that comes later follows one of them in the chain, or a record that does.
func (t *Tail) Ends() []string {
	var ends []string
	for _, at := range t.places {
		if at.End > 0 {
			ends = append(ends, hex.EncodeToString(at.Last[:]))
		}
	}
	return ends
}

// extents looks where the ledger stands now. Where it was moved beside the tree, its lines are given already, and by their
// age no line is new.
func (t *Tail) extents(ctx context.Context, known func(archive string) bool) ([]segment.Extent, error) {
	at, err := t.ledger.here()
	if err != nil {
		return nil, err
	}
	t.root = at.root
	places, _, err := segment.List(ctx, at.root, known)
	return places, err
}

// lastLine finds the end of the last whole line. Records of the tail's own millisecond are taken for given: their age
// could not tell them from those that come.
func (t *Tail) lastLine(place segment.Extent) (readTo, error) {
	at := readTo{info: place.Info}
	file, size, err := place.Open(t.root)
	if err != nil {
		return at, segment.IgnoreGone(err)
	}
	defer file.Close()
	err = segment.Backward(file, size, func(line segment.Line) error {
		if line.Torn {
			return nil
		}
		var id record.Hash
		if !line.TooLong {
			id = record.Identity(line.Data)
		}
		if at.End == 0 {
			at.LastAt, at.End, at.Last = line.Offset, line.Offset+line.Size, id
		}
		if e, err := record.Parse(line.Data); line.TooLong || err != nil || e.Time.Before(t.since) {
			return segment.ErrEnough
		}
		t.given[id] = struct{}{}
		return nil
	})
	if errors.Is(err, segment.ErrEnough) {
		err = nil
	}
	return at, segment.IgnoreGone(err)
}

// Follow calls visit for each record that matches f and comes into the ledger after the tail, whichever process appends it,
// until the context ends (nil) or visit fails (its error). Each record is given once. Limit and Newest mean nothing here; Line
// is an error. A record that git brings, by a merge or a switch, counts as new if it is not older than the tail: others made it
// since. A Tail can be followed once.
func (t *Tail) Follow(ctx context.Context, f record.Filter, visit func(record.Entry) error) error {
	if f.Line > 0 {
		return errors.New("follow the ledger: a line of a file cannot be followed, only its path")
	}
	ticker := time.NewTicker(t.ledger.followEvery)
	defer ticker.Stop()
	for {
		if err := t.Next(ctx, f, visit); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Next calls visit for each record that matches f and came since the tail was taken or Next was last called.
func (t *Tail) Next(ctx context.Context, f record.Filter, visit func(record.Entry) error) error {
	places, err := t.extents(ctx, func(string) bool { return false })
	if err != nil {
		return fmt.Errorf("follow the ledger: %w", err)
	}
	before := t.places
	t.places = make(map[string]readTo, len(places))
	for _, place := range places {
		if at, known := before[place.Name]; known && segment.Unchanged(at.info, place.Info) {
			t.places[place.Name] = at
			continue
		}
		r := tailReader{t: t, f: f, visit: visit}
		if err := r.read(ctx, place, before); err != nil {
			return err
		}
	}
	return nil
}

// tailReader reads what one changed segment has that is new.
type tailReader struct {
	t     *Tail
	f     record.Filter
	visit func(record.Entry) error
	at    readTo
}

func (r *tailReader) read(ctx context.Context, place segment.Extent, before map[string]readTo) error {
	file, size, err := place.Open(r.t.root)
	if err != nil {
		// What cannot be read now may be readable at a later look, from where it was left.
		if at, known := before[place.Name]; known {
			r.t.places[place.Name] = at
		}
		return nil
	}
	defer file.Close()
	r.begin(file, size, place, before)
	err = segment.Forward(io.NewSectionReader(file, r.at.End, size-r.at.End), r.at.End, func(line segment.Line) error {
		if err := ctx.Err(); err != nil || line.Torn {
			return err
		}
		return r.line(place.Name, line)
	})
	r.t.places[place.Name] = r.at
	return segment.IgnoreGone(err)
}

// begin finds the place from which the segment continues what is known: of its own, or, where the lines were moved
// as when a segment is archived, of another one. Where there is none, all is read again, and age tells what is new.
func (r *tailReader) begin(file segment.Content, size int64, place segment.Extent, before map[string]readTo) {
	if own := before[place.Name]; own.Continues(file, size) {
		r.at = own
	} else {
		for _, c := range before {
			if c.End > r.at.End && c.Continues(file, size) {
				r.at = c
			}
		}
	}
	r.at.byAge = r.at.byAge || r.at.End == 0
	r.at.info = place.Info
}

func (r *tailReader) line(name string, line segment.Line) error {
	r.at.Reached = segment.Reached{End: line.Offset + line.Size, LastAt: line.Offset}
	e, err := record.Entry{}, error(record.ErrMalformed)
	if !line.TooLong {
		r.at.Last = record.Identity(line.Data)
		e, err = record.Parse(line.Data)
	}
	if err != nil || r.at.byAge && e.Time.Before(r.t.since) || !r.f.Matches(e) {
		return nil
	}
	if _, given := r.t.given[r.at.Last]; given {
		return nil
	}
	r.t.given[r.at.Last] = struct{}{}
	e.Segment, e.Offset = name, line.Offset
	return r.visit(e)
}
