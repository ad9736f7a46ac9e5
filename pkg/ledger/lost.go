package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/live"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// Mark is what the ledger ended with at one time: the last line of each segment that is appended to, and the names of
// its archives. Records that were there then and are not later are a Loss.
type Mark struct {
	tail     *Tail
	archives []string
	beside   bool
}

// Mark notes how the ledger ends now.
func (l *Ledger) Mark(ctx context.Context) (*Mark, error) {
	tail, archives, err := l.tail(ctx, func(string) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("mark the end of the ledger: %w", err)
	}
	return &Mark{tail: tail, archives: archives, beside: tail.root != l.workspace}, nil
}

// Loss is what the ledger had and has no more.
type Loss struct {
	ledger   *Ledger
	lines    map[record.Hash]bool
	archives []string
}

// Lost finds what is gone since the mark: nil if nothing is. A line may have moved to another place in the ledger, as by
// a rotation or a merge. Lines that elsewhere has are not lost, but on another branch; nil asks nowhere. No branch has what
// stands beside the tree.
func (m *Mark) Lost(ctx context.Context, elsewhere verify.Elsewhere) (*Loss, error) {
	loss := &Loss{ledger: m.tail.ledger, lines: map[record.Hash]bool{}, archives: m.archives}
	now, err := loss.ledger.here()
	if err != nil {
		return nil, fmt.Errorf("look for what the ledger had: %w", err)
	}
	for name, at := range m.tail.places {
		if at.End > 0 && !at.InPlace(now.root, name) {
			loss.lines[at.Last] = true
		}
	}
	if err := loss.look(ctx); err != nil {
		return nil, err
	}
	if elsewhere != nil && !m.beside && len(loss.lines) > 0 {
		if err := elsewhere(ctx, func(line []byte, _ string) error {
			delete(loss.lines, record.Identity(segment.TrimEnd(line)))
			return nil
		}); err != nil {
			return nil, err
		}
		loss.archives = nil // a branch has its own
	}
	if loss.none() {
		return nil, nil
	}
	return loss, nil
}

// look leaves what is still not there.
func (l *Loss) look(ctx context.Context) error {
	if l.none() {
		return nil
	}
	at, err := l.ledger.here()
	if err != nil {
		return fmt.Errorf("look for what the ledger had: %w", err)
	}
	places, _, err := segment.List(ctx, at.root)
	if err != nil {
		return fmt.Errorf("look for what the ledger had: %w", err)
	}
	l.archives = slices.DeleteFunc(slices.Clone(l.archives), func(name string) bool {
		return slices.ContainsFunc(places, func(e segment.Extent) bool { return e.Name == name })
	})
	if err := segment.TakeOut(at.root, places, l.lines); err != nil {
		return fmt.Errorf("look for what the ledger had: %w", err)
	}
	return nil
}

func (l *Loss) none() bool { return len(l.lines) == 0 && len(l.archives) == 0 }

// Back reports whether all of it is there again.
func (l *Loss) Back(ctx context.Context) bool { return l.look(ctx) == nil && l.none() }

// String names what is gone.
func (l *Loss) String() string {
	var what []string
	for _, id := range slices.SortedFunc(maps.Keys(l.lines), record.CompareHash) {
		what = append(what, "the record with hash "+id.String()+" and those before it")
	}
	for _, name := range l.archives {
		what = append(what, segment.Home+"/"+name)
	}
	return strings.Join(what, ", ")
}

// Follow has the next record follow the lines that are gone too, as if they were there: a check of the chain then misses
// them until somebody brings them back.
func (l *Loss) Follow() {
	l.ledger.goneLock.Lock()
	defer l.ledger.goneLock.Unlock()
	maps.Copy(l.ledger.gone, l.lines)
}

// followGone puts the lines that are gone among the heads of a segment. Only the writer calls it, before an append.
func (l *Ledger) followGone(s *live.File) {
	l.goneLock.Lock()
	defer l.goneLock.Unlock()
	if len(l.gone) == 0 {
		return
	}
	heads := slices.AppendSeq(slices.Clone(s.Heads), maps.Keys(l.gone))
	slices.SortFunc(heads, record.CompareHash)
	s.Heads = slices.Compact(heads)
}

// followed: a record stands that follows them.
func (l *Ledger) followed() {
	l.goneLock.Lock()
	defer l.goneLock.Unlock()
	clear(l.gone)
}
