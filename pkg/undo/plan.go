package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The errors that a caller may test for. They are about what was asked, not about the files.
var (
	// ErrNoRecord: no record has this id, or it changed no files.
	ErrNoRecord = errors.New("no such change")
	// ErrAmbiguous: several records have ids that begin like this.
	ErrAmbiguous = errors.New("several records have ids that begin so")
	// ErrIntents: the records are of different intents.
	ErrIntents = errors.New("the records are of different intents")
	// ErrNotYet: the call has not ended, so what it changes is not recorded yet.
	ErrNotYet = errors.New("not yet recorded")
)

// Source is what a plan is made from.
type Source struct {
	Files  *workspace.Workspace
	Ledger *ledger.Ledger
	// Contents gives kept contents by git blob id; nil where none are.
	Contents func(oid string) ([]byte, bool)
	// Kept says within what bounds they are kept, for people; "" where none are.
	Kept string
	// UnderWay gives the calls that have begun and are not recorded yet; nil where nobody knows.
	UnderWay func() ([]Touch, error)
	// Largest bounds a file, in bytes.
	Largest int64
}

// Request says what is to be undone: records by their ids, or by at least eight first characters of them; or what still
// stands of an intent.
type Request struct {
	Records  []string
	IntentID string
}

// Plan is what undoing comes to.
type Plan struct {
	IntentID string
	// Records are the ids of what is undone, newest first.
	Records []string
	// Already are records that were asked for and are undone already.
	Already []Undone
	// Files are the changes that can be made, sorted by path; none where everything is as it was before.
	Files []File
	// Conflicts are the files that cannot be taken back, and why. With one, only a part can be carried out; see Partial.
	Conflicts []Conflict
	// Left are the conflicts of a partial plan.
	Left []Conflict
	// UnderWay are calls of the intent that have not ended: what they change is not recorded yet, and is not taken back.
	UnderWay []Touch
	// Unread are ledger lines that could not be read: what stood there is not considered.
	Unread []ledger.Problem
}

// Undone is a record that another one took back.
type Undone struct {
	Record string `json:"record"`
	By     string `json:"by"`
}

// File is one change of a plan.
type File struct {
	// A file that is created without a mode has that of new files.
	change.Change
	// Merged: the file had changed since, and these changes stay.
	Merged bool
	// Records are the ids of the records that it takes back, newest first.
	Records []string
	// Notes say what somebody should know who agrees to it, such as other names of the file.
	Notes []string
}

// rewritten reports that the file gets a new content or other permissions.
func (f *File) rewritten() bool {
	return f.Before.Hash != f.After.Hash || f.Before.Mode != f.After.Mode
}

// Ready reports whether there is something to do and nothing in its way.
func (p *Plan) Ready() bool { return len(p.Conflicts) == 0 && len(p.Files) > 0 }

// Partial is the plan that takes back what can be, and leaves the files with conflicts as they are: each with all that the
// chosen records did to it.
func (p *Plan) Partial() *Plan {
	part := *p
	part.Conflicts, part.Left = nil, p.Conflicts
	return &part
}

// Plan looks up what is asked for and works out what the files have to become. It changes nothing. A conflict is part of
// the plan, not an error.
func (s Source) Plan(ctx context.Context, r Request) (*Plan, error) {
	if s.UnderWay == nil {
		s.UnderWay = func() ([]Touch, error) { return nil, nil }
	}
	lookup := &lookup{ctx: ctx, ledger: s.Ledger, underWay: s.UnderWay}
	chosen, err := lookup.choose(r)
	if err != nil {
		return nil, err
	}
	plan := &Plan{IntentID: r.IntentID}
	if len(chosen) > 0 {
		plan.IntentID = chosen[0].IntentID
	}
	d := newDisk(ctx, s)
	t := newTree(d, lookup, nil, &left{})
	for _, c := range chosen {
		if by := lookup.undone[c.ID]; by != "" && !t.stands(c) {
			plan.Already = append(plan.Already, Undone{c.ID, by})
			continue
		}
		plan.Records = append(plan.Records, c.ID)
	}
	chosen = slices.DeleteFunc(chosen, func(c recorded) bool { return !slices.Contains(plan.Records, c.ID) })
	lookup.resolve(plan.Records)
	if err := lookup.readAll(chosen); err != nil {
		return nil, err
	}
	if err := plan.work(d, lookup, chosen); err != nil {
		return nil, err
	}
	plan.Unread = lookup.problems
	plan.UnderWay, err = lookup.underWayOf(r.IntentID)
	return plan, err
}

// work finds what the files become. As long as files have conflicts, all that the chosen records did to them is left out and
// the rest is worked out anew: what was to come to the place of such a file has a conflict then as well.
func (p *Plan) work(d *disk, l *lookup, chosen []recorded) error {
	moved, err := l.findMoves(d.ctx, d, chosen)
	if err != nil {
		return err
	}
	without := &left{parts: map[part]bool{}, stays: map[string]string{}}
	for {
		t := newTree(d, l, moved, without)
		for _, c := range chosen {
			for _, f := range slices.Backward(c.files) {
				if err := t.undo(c, f); err != nil {
					return err
				}
			}
		}
		if err := t.settleAll(); err != nil {
			return err
		}
		p.Conflicts = append(p.Conflicts, t.conflicts...)
		if len(t.conflicts) == 0 {
			p.Files = t.result()
			return nil
		}
	}
}

// oneIntent holds that the changes have one intent, which is what the undo is recorded under.
func oneIntent(changes []recorded) error {
	for _, c := range changes {
		if c.IntentID != changes[0].IntentID {
			return fmt.Errorf("%w: %s is of %s, %s of %s; undo them one after the other, the newest first",
				ErrIntents, changes[0].ID, cmp.Or(changes[0].IntentID, "no intent"), c.ID, cmp.Or(c.IntentID, "no intent"))
		}
	}
	return nil
}
