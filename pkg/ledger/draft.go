package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Draft is a record that has its id, its time and its lines, and is not in the ledger yet. A journal keeps the lines
// before the mutation, so that whoever finds them after a crash can append the record that was meant.
type Draft struct {
	entry  record.Entry
	bodies [][]byte
}

// Draft encodes a record and gives it the id that it will have. Errors: ErrInvalidRecord, ErrTooLarge, and those for
// which the ledger takes no record at all.
func (l *Ledger) Draft(r record.Record) (*Draft, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	return l.DraftAs(l.opts.NewID(), r)
}

// DraftAs is Draft with an id that the caller has chosen, a UUID that the ledger does not have yet.
func (l *Ledger) DraftAs(id string, r record.Record) (*Draft, error) {
	return l.draft(record.Entry{
		Record: r, ID: id, Time: l.opts.Clock(), Revision: l.opts.Revision(), ToolVersion: l.opts.Version,
	})
}

// Redraft gives another record the id, time and revision of d: what a command did is known only after it.
func (l *Ledger) Redraft(d *Draft, r record.Record) (*Draft, error) {
	e := d.entry
	e.Record = r
	return l.draft(e)
}

func (l *Ledger) draft(e record.Entry) (*Draft, error) {
	if e.Principal == "" && l.opts.Principal != nil {
		e.Principal = l.opts.Principal()
	}
	bodies, err := l.encode(e)
	if err != nil {
		return nil, err
	}
	return &Draft{entry: e, bodies: bodies}, nil
}

// ID is the id that the record will have.
func (d *Draft) ID() string { return d.entry.ID }

// Time is the record's timestamp.
func (d *Draft) Time() time.Time { return d.entry.Time }

// Record is what was drafted. Its slices are shared.
func (d *Draft) Record() record.Record { return d.entry.Record }

// Lines are the record's lines without their place in the chain, which only the append knows.
func (d *Draft) Lines() [][]byte {
	lines := make([][]byte, len(d.bodies))
	for i, body := range d.bodies {
		lines[i] = record.Link(nil, nil, body)
	}
	return lines
}

// ParseDraft reads what Lines gave. The parts of a record that was spread become one again.
func ParseDraft(lines [][]byte) (*Draft, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("%w: a draft without lines", record.ErrMalformed)
	}
	var whole record.Entry
	for i, line := range lines {
		e, err := record.Parse(line)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			whole = e
		default:
			whole.Changes = append(whole.Changes, e.Changes...)
			whole.Violations = append(whole.Violations, e.Violations...)
		}
	}
	if whole.ID == "" || whole.Kind == "" {
		return nil, fmt.Errorf("%w: a draft without id or kind", record.ErrMalformed)
	}
	whole.Part, whole.Prev, whole.Raw, whole.Hash, whole.Files = nil, nil, nil, "", nil
	return &Draft{entry: whole}, nil
}

// AppendDraft is Append for a draft.
func (l *Ledger) AppendDraft(ctx context.Context, d *Draft) (Appended, error) {
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	req := l.requestOf(d)
	if err := l.ask(ctx, req); err != nil {
		return Appended{}, err
	}
	return Appended{ID: req.id, Hash: req.ids[0].String()}, nil
}

// Has reports which of the ids have a record in the ledger, and makes sure that those records are as durable as
// Options.Durability says. It looks where the newest are first; if an id is nowhere it reads the whole ledger. What is
// in the damaged part of an archive is not found.
func (l *Ledger) Has(ctx context.Context, ids ...string) (map[string]bool, error) {
	found := map[string]bool{}
	err := segment.UnlessRotated(func() error {
		at, err := l.here()
		if err != nil {
			return err
		}
		places, _, err := segment.List(ctx, at.root)
		if err != nil {
			return fmt.Errorf("look for records in the ledger: %w", err)
		}
		for _, place := range slices.Backward(places) {
			if len(found) == len(ids) {
				return nil
			}
			if err := l.look(ctx, at.root, place, ids, found); err != nil {
				return fmt.Errorf("look for records in the ledger: %s: %w", place.Name, err)
			}
		}
		return nil
	})
	return found, err
}

func (l *Ledger) look(ctx context.Context, root *os.Root, place segment.Extent, ids []string, found map[string]bool) error {
	file, size, err := place.Open(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil && place.Archived() {
		l.warnDamaged(place.Name, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	before := len(found)
	err = segment.ReadLines(file, size, true, func(line segment.Line) error {
		for _, id := range ids {
			if line.TooLong || !bytes.Contains(line.Data, []byte(id)) {
				continue
			}
			if e, err := record.Parse(line.Data); err == nil && e.ID == id {
				found[id] = true
			}
		}
		if len(found) == len(ids) {
			return segment.ErrEnough
		}
		return ctx.Err()
	}, func(d *framed.Damage) { l.warnDamaged(place.Name, d) })
	if err != nil && !errors.Is(err, segment.ErrEnough) {
		return err
	}
	if len(found) == before || l.opts.Durability == DurabilityOS || place.Archived() { // an archive was flushed
		return nil
	}
	return l.flushNamed(root, path.Join(segment.Home, place.Name))
}

func (l *Ledger) warnDamaged(segment string, err error) {
	l.opts.Logger.Warn().Err(err).Str("segment", segment).Msg("an archive of the ledger is damaged: run `orchestra-mcp verify`")
}

// flushNamed makes sure of records that another process wrote and perhaps did not live to flush.
func (l *Ledger) flushNamed(root *os.Root, name string) error {
	file, _, err := durable.OpenRegularIn(root, name, os.O_RDWR)
	if err != nil {
		return segment.Unavailable(err)
	}
	defer file.Close()
	if err := l.disk.Flush(file); err != nil {
		return l.poison(err)
	}
	return segment.FlushDir(root, l.disk, path.Dir(name))
}

// encode gives the bodies of the record's lines: one, unless its changes are too many.
func (l *Ledger) encode(e record.Entry) ([][]byte, error) {
	body, err := record.EncodeBody(e)
	if err != nil {
		return nil, err
	}
	if len(body) <= l.maxLine {
		return [][]byte{body}, nil
	}
	return record.Spread(e, l.maxLine, l.opts.NewID)
}
