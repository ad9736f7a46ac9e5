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

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// followEvery is how often Follow looks for new lines. Notifications of the system would not come from every file
// system, and would not say more than that it is time to look.
const followEvery = 200 * time.Millisecond

var errLineFilter = errors.New("follow the ledger: a line of a file cannot be followed, only its path")

// Follow calls visit for each record that matches f and comes into the ledger after what is there now, whichever
// process appends it, until the context ends (nil) or visit fails (its error). Each record is given once. Limit and
// Newest mean nothing here; Line is an error. It is Tail and Tail.Follow in one.
func (l *Ledger) Follow(ctx context.Context, f Filter, visit func(Entry) error) error {
	t, err := l.Tail(ctx)
	if err != nil {
		return err
	}
	return t.Follow(ctx, f, visit)
}

// Tail is a place in the ledger: behind everything that was there when it was taken. A caller who shows what there is
// and then what comes takes the tail first, so that nothing falls between; what came in between is then in both.
type Tail struct {
	ledger *Ledger
	root   *os.Root  // where the ledger stood at the last look
	since  time.Time // lines of a rewritten segment count as new from here on
	places map[string]reached
	given  map[digest]struct{}
}

// reached is how far a segment has been read.
type reached struct {
	info   fs.FileInfo
	end    int64 // of the last whole line that is known
	lastAt int64
	last   digest
	// byAge: the segment was read from its start while following. Git writes a file in pieces, so its growth alone
	// does not make a line new.
	byAge bool
}

// Tail gives the end of the ledger as it is now.
func (l *Ledger) Tail(ctx context.Context) (*Tail, error) {
	_ = l.Flush(ctx)
	t := &Tail{ledger: l, since: l.opts.Clock().Truncate(time.Millisecond), places: map[string]reached{}, given: map[digest]struct{}{}}
	places, err := t.extents(ctx)
	if err != nil {
		return nil, fmt.Errorf("follow the ledger: %w", err)
	}
	for _, place := range places {
		if t.places[place.name], err = t.lastLine(place); err != nil {
			return nil, fmt.Errorf("follow the ledger: %s: %w", place.name, err)
		}
	}
	return t, ctx.Err()
}

// Ends are the hashes of the last lines, hex: a record that comes later follows one of them in the chain, or a record that
// does.
func (t *Tail) Ends() []string {
	var ends []string
	for _, at := range t.places {
		if at.end > 0 {
			ends = append(ends, hex.EncodeToString(at.last[:]))
		}
	}
	return ends
}

// extents looks where the ledger stands now. Where it was moved beside the tree, its lines are given already, and by their
// age no line is new.
func (t *Tail) extents(ctx context.Context) ([]extent, error) {
	at, err := t.ledger.here()
	if err != nil {
		return nil, err
	}
	t.root = at.root
	places, _, err := extents(ctx, at.root)
	return places, err
}

// lastLine finds the end of the last whole line. Records of the tail's own millisecond are taken for given: their age
// could not tell them from those that come.
func (t *Tail) lastLine(place extent) (reached, error) {
	at := reached{info: place.info}
	file, size, err := place.open(t.root)
	if err != nil {
		return at, ignoreGone(err)
	}
	defer file.Close()
	err = backward(file, size, func(line rawLine) error {
		if line.torn {
			return nil
		}
		var id digest
		if !line.tooLong {
			id = identity(line.data)
		}
		if at.end == 0 {
			at.lastAt, at.end, at.last = line.offset, line.offset+line.size, id
		}
		if e, err := Parse(line.data); line.tooLong || err != nil || e.Time.Before(t.since) {
			return errEnough
		}
		t.given[id] = struct{}{}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return at, ignoreGone(err)
}

// ignoreGone: what git or a rotation takes away between two looks is read when it is back, and damage is for Verify to
// report.
func ignoreGone(err error) error {
	_, damaged := errors.AsType[*framed.Damage](err)
	if damaged || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errRotated) {
		return nil
	}
	return err
}

// Follow goes on from the tail, as Ledger.Follow does. A record that git brings, by a merge or a switch, counts as new
// if it is not older than the tail: others made it since. A Tail can be followed once.
func (t *Tail) Follow(ctx context.Context, f Filter, visit func(Entry) error) error {
	if f.Line > 0 {
		return errLineFilter
	}
	ticker := time.NewTicker(t.ledger.followEvery)
	defer ticker.Stop()
	for {
		if err := t.look(ctx, f, visit); err != nil {
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

// look gives what is new.
// Next calls visit for each record that matches f and came since the tail was taken or Next was last called.
func (t *Tail) Next(ctx context.Context, f Filter, visit func(Entry) error) error {
	return t.look(ctx, f, visit)
}

func (t *Tail) look(ctx context.Context, f Filter, visit func(Entry) error) error {
	places, err := t.extents(ctx)
	if err != nil {
		return fmt.Errorf("follow the ledger: %w", err)
	}
	before := t.places
	t.places = make(map[string]reached, len(places))
	for _, place := range places {
		if at, known := before[place.name]; known && unchanged(at.info, place.info) {
			t.places[place.name] = at
			continue
		}
		r := tailReader{t: t, f: f, visit: visit}
		if err := r.read(ctx, place, before); err != nil {
			return err
		}
	}
	return nil
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// tailReader reads what one changed segment has that is new.
type tailReader struct {
	t     *Tail
	f     Filter
	visit func(Entry) error
	at    reached
}

func (r *tailReader) read(ctx context.Context, place extent, before map[string]reached) error {
	file, size, err := place.open(r.t.root)
	if err != nil {
		// What cannot be read now may be readable at a later look, from where it was left.
		if at, known := before[place.name]; known {
			r.t.places[place.name] = at
		}
		return nil
	}
	defer file.Close()
	r.begin(file, size, place, before)
	err = forward(io.NewSectionReader(file, r.at.end, size-r.at.end), r.at.end, func(line rawLine) error {
		if err := ctx.Err(); err != nil || line.torn {
			return err
		}
		return r.line(place.name, line)
	})
	r.t.places[place.name] = r.at
	return ignoreGone(err)
}

// begin finds the place from which the segment continues what is known: of its own, or, where the lines were moved
// as when a segment is archived, of another one. Where there is none, all is read again, and age tells what is new.
func (r *tailReader) begin(file content, size int64, place extent, before map[string]reached) {
	if own := before[place.name]; own.continues(file, size) {
		r.at = own
	} else {
		for _, c := range before {
			if c.end > r.at.end && c.continues(file, size) {
				r.at = c
			}
		}
	}
	r.at.byAge = r.at.byAge || r.at.end == 0
	r.at.info = place.info
}

// continues reports whether the content has the last line that was read where it was.
func (c reached) continues(file content, size int64) bool {
	if c.end == 0 || c.end > size || c.end-c.lastAt > maxLineToRead {
		return false
	}
	line := make([]byte, c.end-c.lastAt)
	_, err := file.ReadAt(line, c.lastAt)
	return (err == nil || errors.Is(err, io.EOF)) && identity(trimEnd(line)) == c.last
}

func (r *tailReader) line(segment string, line rawLine) error {
	r.at.end, r.at.lastAt, r.at.last = line.offset+line.size, line.offset, digest{}
	e, err := Entry{}, error(ErrMalformed)
	if !line.tooLong {
		r.at.last = identity(line.data)
		e, err = Parse(line.data)
	}
	if err != nil || r.at.byAge && e.Time.Before(r.t.since) || !r.f.Matches(e) {
		return nil
	}
	if _, given := r.t.given[r.at.last]; given {
		return nil
	}
	r.t.given[r.at.last] = struct{}{}
	e.Segment, e.Offset = segment, line.offset
	return r.visit(e)
}
