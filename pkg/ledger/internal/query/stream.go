package query

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
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
	at    time.Time                          // of its next match; until it is begun, a time that none of its matches comes before
	head  *record.Entry                      // nil while its next match is not known
	room  *record.Entry                      // for the head
	next  func() (record.Entry, error, bool) // nil until it is begun
	end   func()
}

// merge gives the matches of several segments in the order of their times: whichever segment's next match comes first
// goes first. Of equal times the earlier segment comes first.
func (q *query) merge(ctx context.Context, root *os.Root, places []segment.Extent, visit func(record.Entry) error) error {
	open := make([]cursor, len(places))
	defer func() {
		for _, c := range open {
			if c.next != nil {
				c.end()
			}
			if c.head != nil {
				q.seen.forget(c.head.Hash) // not given yet, for the case that all begins again
			}
		}
	}()
	for i := range places {
		open[i] = cursor{place: &places[i], at: q.bound(places[i].Name)}
	}
	for len(open) > 0 {
		i := q.first(open)
		c := &open[i]
		if given := c.head; given != nil {
			c.head = nil
			if err := visit(*given); err != nil {
				return err
			}
		}
		if c.next == nil && q.empty(c.place.Name) {
			open = slices.Delete(open, i, i+1)
			continue
		}
		if c.next == nil {
			c.next, c.end = iter.Pull2(q.entries(ctx, root, *c.place))
			c.room = new(record.Entry)
		}
		head, err, more := c.next()
		switch {
		case err != nil:
			return err
		case more:
			*c.room = head
			c.head, c.at = c.room, head.Time
		default:
			c.end()
			open = slices.Delete(open, i, i+1)
		}
	}
	return nil
}

// empty reports whether the index has no match in a segment, which needs not be begun then.
func (q *query) empty(segment string) bool {
	v := q.views[segment]
	if v == nil {
		return false
	}
	blocks, err := q.index.Blocks(segment, v, &q.wanted)
	return err == nil && len(blocks) == 0
}

// bound is a time that no match of a segment comes before: where nothing is known of it, one of the ends of time.
func (q *query) bound(segment string) time.Time {
	v := q.times[segment]
	switch {
	case v != nil && q.Newest:
		return v.Greatest
	case v != nil:
		return v.Least
	case q.Newest:
		return time.UnixMilli(math.MaxInt64)
	}
	return time.UnixMilli(math.MinInt64)
}

// first is the cursor that comes next. One that was not begun may have a match that comes before others of its time.
func (q *query) first(open []cursor) (best int) {
	for i, c := range open {
		order := c.at.Compare(open[best].at)
		if q.Newest {
			order = -order
		}
		if order < 0 || order == 0 && c.next == nil && open[best].next != nil {
			best = i
		}
	}
	return best
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
