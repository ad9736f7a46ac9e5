package query

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// maxMerged bounds how many segments are read side by side, each with a file and a buffer of its own.
const maxMerged = 64

// cursor is one segment on its way through a merge. Most of a long ledger's are never begun: they have to be small.
type cursor struct {
	place *segment.Extent
	next  func() (record.Entry, error, bool) // nil until it is begun
	end   func()
	head  *record.Entry // nil until it is begun
	// bound is not behind the first head in the order of the merge; while it does not come first, the segment need
	// not be opened.
	bound   time.Time
	bounded bool
}

// merge gives the matches of several segments in the order of their times: whichever segment's next match comes first
// goes first. Of equal times the earlier segment comes first, as in Query.
func (q *query) merge(ctx context.Context, root *os.Root, places []segment.Extent, visit func(record.Entry) error) error {
	open := make([]cursor, len(places))
	defer func() {
		for _, c := range open {
			c.stop()
			if c.head != nil {
				q.seen.forget(c.head.Hash) // not given yet, for the case that all begins again
			}
		}
	}()
	for i := range places {
		open[i].place = &places[i]
		open[i].bound, open[i].bounded = q.bound(places[i].Name)
	}
	for len(open) > 0 {
		at := q.first(open)
		c := &open[at]
		if given := c.head; given != nil {
			c.head = &record.Entry{}
			if err := visit(*given); err != nil {
				return err
			}
		}
		if c.next == nil {
			c.next, c.end = iter.Pull2(q.entries(ctx, root, *c.place))
		}
		head, err, more := c.next()
		if c.head = &head; err != nil {
			return err
		}
		if !more {
			c.stop()
			open = slices.Delete(open, at, at+1)
		}
	}
	return nil
}

// bound gives the time that no match of a segment comes before.
func (q *query) bound(segment string) (time.Time, bool) {
	v := q.views[segment]
	if v == nil || v.Size > v.End {
		return time.Time{}, false
	}
	if q.Newest {
		return v.Greatest, true
	}
	return v.Least, true
}

// first is the cursor whose head comes next, or one that has to begin before that can be said.
func (q *query) first(open []cursor) int {
	best := -1
	for i, c := range open {
		if c.head == nil && !c.bounded {
			return i
		}
		if c.head != nil && (best < 0 || q.before(c.head.Time, open[best].head.Time)) {
			best = i
		}
	}
	next := best
	for i, c := range open {
		// A bound that equals the head may stand for one that comes first.
		if c.head == nil && (best < 0 || !q.before(open[best].head.Time, c.bound)) &&
			(next == best || q.before(c.bound, open[next].bound)) {
			next = i
		}
	}
	return next
}

func (q *query) before(a, b time.Time) bool {
	if q.Newest {
		return b.Before(a)
	}
	return a.Before(b)
}

func (c *cursor) stop() {
	if c.next != nil {
		c.end()
	}
}

// entries is each as a sequence, for merge to take from one segment at a time. An error is its last element.
func (q *query) entries(ctx context.Context, root *os.Root, place segment.Extent) iter.Seq2[record.Entry, error] {
	return func(yield func(record.Entry, error) bool) {
		err := q.each(ctx, root, place, func(e record.Entry) error {
			if !yield(e, nil) {
				return segment.ErrEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, segment.ErrEnough) {
			yield(record.Entry{}, fmt.Errorf("query the ledger: %s: %w", path.Join(segment.Home, place.Name), err))
		}
	}
}

// seenLines are the identities of lines that were given, by half of their bytes: a million take 40 MB.
type seenLines map[[16]byte]struct{}

// add reports whether the line with this hash is new.
func (s seenLines) add(hash string) bool {
	key := seenKey(hash)
	if _, seen := s[key]; seen {
		return false
	}
	s[key] = struct{}{}
	return true
}

func (s seenLines) has(id record.Hash) bool { _, seen := s[[16]byte(id[:16])]; return seen }

func (s seenLines) forget(hash string) { delete(s, seenKey(hash)) }

func seenKey(hash string) (key [16]byte) {
	_, _ = hex.Decode(key[:], []byte(hash[:min(len(hash), 2*len(key))])) // a hash of ours
	return key
}
