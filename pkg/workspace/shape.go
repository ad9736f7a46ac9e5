package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Shape is a planned change of what is no regular file. Its path is taken as it is: no link is followed.
type Shape struct {
	Path string
	// Kind is Symlink or Directory.
	Kind Kind
	// From and To are the texts of a link before and after, "" for none.
	From, To string
	// Gone removes a directory, if nothing is in it then, and Mode are the permissions of one that stays or comes to be; nil
	// leaves them. With Needed a directory that is not empty is an error, for something takes its place.
	Gone, Needed bool
	Mode         *fs.FileMode
}

// valid refuses what no tool may change by a path that is not resolved.
func (s Shape) valid() error {
	switch {
	case s.Kind != Symlink && s.Kind != Directory, s.Kind == Symlink && s.From == s.To:
		return pathError("change", s.Path, fmt.Errorf("%w: no change of a link or a directory", ErrConflict))
	case !isExact(s.Path) || Protect(s.Path) >= ProtectNever:
		return pathError("change", s.Path, ErrInvalidPath)
	}
	return nil
}

// PrepareWith is Prepare with changes of links and directories, which take effect together with those of the files: what goes
// does so before what comes. Two changes may be about one path if the one takes away what stands there. A directory that goes
// and whose place nobody needs is there, empty, until Committed.Close.
func (w *Workspace) PrepareWith(ctx context.Context, changes []Change, shapes []Shape) (*Prepared, error) {
	if len(shapes) == 0 {
		return w.Prepare(ctx, changes)
	}
	freed := map[string]bool{}
	shapes = slices.Clone(shapes)
	slices.SortStableFunc(shapes, func(a, b Shape) int { return strings.Compare(a.Path, b.Path) }) // those above first
	for i := range shapes {
		s := &shapes[i]
		if err := s.valid(); err != nil {
			return nil, err
		}
		s.Needed = s.Needed || s.Gone && freed[path.Dir(s.Path)] // it cannot stay where its directory goes
		if s.Gone && s.Needed || s.Kind == Symlink && s.To == "" {
			freed[s.Path] = true
		}
	}
	// What goes, goes first: a crash is settled from the last change of the plan to the first.
	goes := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Op != change.Deleted })
	comes := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Op == change.Deleted })
	changes = append(goes, comes...)
	p, err := w.prepare(ctx, changes, freed, nil)
	if err != nil {
		return nil, err
	}
	p.arrange(shapes)
	return p, nil
}

// arrange puts the steps of links and directories, those above first, around those of the files.
func (p *Prepared) arrange(shapes []Shape) {
	var first, second, last []step
	at := func(path string) placed { return placed{w: p.w, at: path} }
	aside := func(path string) placedAside { return placedAside{placed: at(path), temp: p.w.tempName("")} }
	linkStep := func(s Shape) *relink { return &relink{aside(s.Path), s.From, s.To} }
	for _, s := range slices.Backward(shapes) {
		switch {
		case s.Kind == Symlink && s.To == "":
			l := linkStep(s)
			p.unlinks, first = append(p.unlinks, l), append(first, l)
		case s.Kind == Directory && s.Gone && !s.Needed:
			last = append(last, &dirEmptied{at(s.Path)})
		case s.Kind == Directory && s.Gone:
			second = append(second, &dirAway{placedAside: aside(s.Path)})
		case s.Kind == Directory && s.Mode != nil:
			last = append(last, &dirMode{placed: at(s.Path), mode: *s.Mode}) // behind what is made in it
		}
	}
	for _, s := range shapes {
		switch {
		case s.Kind == Directory && !s.Gone:
			second = append(second, &dirMade{placed: at(s.Path)})
		case s.Kind == Symlink && s.To != "":
			l := linkStep(s)
			p.links, last = append(p.links, l), append(last, l)
		}
	}
	removals := 0
	for removals < len(p.steps) && isRemoval(p.steps[removals]) {
		removals++
	}
	p.steps = slices.Concat(first, p.steps[:removals], second, p.steps[removals:], last)
}

func isRemoval(s step) bool { _, is := s.(*removal); return is }

// planned describes the change of a link for a journal.
func (s *relink) planned() change.Planned {
	return change.Planned{
		Change: change.Change{Op: change.Between(s.from != "", s.to != ""), Path: s.at, Before: textVersion(s.from), After: textVersion(s.to)},
		Temp:   sharedTemp(s.temp), Link: true,
	}
}

func textVersion(text string) change.Version {
	if text == "" {
		return change.Version{}
	}
	return change.Version{Hash: HashOf([]byte(text))}
}

// enterListed is enter for a directory that is to be flushed.
func (w *Workspace) enterListed(at string) (*durable.Dir, string, error) {
	way, name, err := w.enter(at)
	if err != nil {
		return nil, "", err
	}
	defer way.Close()
	dir, err := way.OpenDir(".")
	return dir, name, err
}
