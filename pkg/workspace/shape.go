package workspace

import (
	"context"
	"errors"
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
func (e Shape) valid() error {
	switch {
	case e.Kind != Symlink && e.Kind != Directory, e.Kind == Symlink && e.From == e.To:
		return pathError("change", e.Path, fmt.Errorf("%w: no change of a link or a directory", ErrConflict))
	case e.Path == "." || path.Clean(e.Path) != e.Path || path.IsAbs(e.Path) || strings.HasPrefix(e.Path, "../"):
		return pathError("change", e.Path, ErrInvalidPath)
	case Protect(e.Path) >= ProtectNever:
		return pathError("change", e.Path, ErrInvalidPath)
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
	for _, s := range slices.Backward(shapes) {
		switch {
		case s.Kind == Symlink && s.To == "":
			l := p.linkStep(s)
			p.unlinks, first = append(p.unlinks, l), append(first, l)
		case s.Kind == Directory && s.Gone && !s.Needed:
			last = append(last, &dirEmptied{w: p.w, at: s.Path})
		case s.Kind == Directory && s.Gone:
			second = append(second, &dirAway{w: p.w, at: s.Path})
		case s.Kind == Directory && s.Mode != nil:
			last = append(last, &dirMode{w: p.w, at: s.Path, mode: *s.Mode}) // behind what is made in it
		}
	}
	for _, s := range shapes {
		switch {
		case s.Kind == Directory && !s.Gone:
			second = append(second, &dirMade{w: p.w, at: s.Path})
		case s.Kind == Symlink && s.To != "":
			l := p.linkStep(s)
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

func (p *Prepared) linkStep(e Shape) *relink {
	return &relink{w: p.w, at: e.Path, from: e.From, to: e.To, temp: p.w.tempName("")}
}

// planned describes the change of a link for a journal.
func (s *relink) planned() change.Planned {
	return change.Planned{
		Change: change.Change{Op: linkOp(s.from, s.to), Path: s.at, Before: textVersion(s.from), After: textVersion(s.to)},
		Temp:   strings.Join([]string{governanceDir, stateDir, tempDir, s.temp}, "/"), Link: true,
	}
}

func linkOp(from, to string) change.Op {
	switch {
	case from == "":
		return change.Created
	case to == "":
		return change.Deleted
	}
	return change.Modified
}

func textVersion(text string) change.Version {
	if text == "" {
		return change.Version{}
	}
	return change.Version{Hash: HashOf([]byte(text))}
}

// unmoved are the methods of steps that displace nothing which others could write into.
type unmoved struct{}

func (unmoved) confirm() error                    { return nil }
func (unmoved) finish(context.Context) error      { return nil }
func (unmoved) afterWriter(context.Context) error { return nil }

// relink makes, removes or replaces a symbolic link.
type relink struct {
	unmoved
	w        *Workspace
	at       string
	from, to string
	temp     string // the name in the shared directory that has the displaced link after apply
	dir      *durable.Dir
	name     string
	temps    *durable.Dir
}

var _ step = (*relink)(nil)

func (s *relink) path() string { return s.at }

func (s *relink) open() (err error) {
	if s.dir == nil {
		if s.dir, s.name, err = s.w.enterListed(s.at); err != nil {
			return err
		}
	}
	if s.temps == nil {
		s.temps, err = s.w.openState(tempDir)
	}
	return err
}

func (s *relink) apply(context.Context) error {
	if err := s.open(); err != nil {
		return pathError("change the link", s.at, err)
	}
	return pathError("change the link", s.at, s.turn(s.from, s.to))
}

func (s *relink) revert(context.Context) error { return s.turn(s.to, s.from) }

// turn puts a link with another text in the place of one, which then has the temporary name.
func (s *relink) turn(from, to string) error {
	if to != "" {
		_ = s.temps.Remove(s.temp)
		if err := s.temps.Symlink(to, s.temp); err != nil {
			return err
		}
	}
	if from == "" {
		err := s.temps.Move(s.temp, s.dir, s.name)
		if errors.Is(err, fs.ErrExist) {
			err = errors.Join(ErrExists, s.temps.Remove(s.temp))
		}
		return err
	}
	take, back := s.exchange, s.exchange
	if to == "" {
		take = func() error { _ = s.temps.Remove(s.temp); return s.dir.Move(s.name, s.temps, s.temp) }
		back = func() error { return s.temps.Move(s.temp, s.dir, s.name) }
	}
	if err := take(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrStale
		}
		return err
	}
	if text, err := s.temps.Readlink(s.temp); err != nil || text != from {
		return errors.Join(ErrStale, back())
	}
	return nil
}

func (s *relink) exchange() error { return s.temps.Exchange(s.temp, s.dir, s.name) }

func (s *relink) touched() []*durable.Dir { return []*durable.Dir{s.dir} }

// close removes what has the temporary name: a link of which the text is known.
func (s *relink) close() (err error) {
	if s.temps != nil {
		if err = s.temps.Remove(s.temp); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		err = errors.Join(err, s.temps.Close())
	}
	if s.dir != nil {
		err = errors.Join(err, s.dir.Close())
	}
	s.dir, s.temps = nil, nil
	return err
}

// dirAway takes a directory away that something takes the place of. It keeps it until the change is closed: what was in it can
// go back there.
type dirAway struct {
	unmoved
	w     *Workspace
	at    string
	dir   *durable.Dir
	name  string
	temps *durable.Dir
	temp  string
	away  bool
}

var _ step = (*dirAway)(nil)

func (s *dirAway) path() string { return s.at }

func (s *dirAway) apply(context.Context) (err error) {
	if s.dir, s.name, err = s.w.enterListed(s.at); err == nil {
		s.temps, err = s.w.openState(tempDir)
	}
	if err != nil {
		return pathError("remove", s.at, err)
	}
	s.temp = s.w.tempName("")
	if err = s.dir.Move(s.name, s.temps, s.temp); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.away = err == nil; err != nil {
		return pathError("remove", s.at, err)
	}
	away, err := s.temps.OpenDir(s.temp)
	if err == nil {
		entries, rerr := away.ReadDir()
		if err = rerr; err == nil && len(entries) > 0 {
			err = fmt.Errorf("%w: the directory has something in it that others made (%s)", ErrExists, visible(entries[0].Name()))
		}
		away.Close()
	}
	if err != nil {
		err = errors.Join(err, s.revert(context.Background()))
	}
	return pathError("remove", s.at, err)
}

func (s *dirAway) revert(context.Context) error {
	if !s.away {
		return nil
	}
	err := s.temps.Move(s.temp, s.dir, s.name)
	s.away = err != nil
	return err
}

func (s *dirAway) touched() []*durable.Dir { return []*durable.Dir{s.dir} }

func (s *dirAway) finish(context.Context) error {
	if s.away {
		_ = s.temps.RemoveDir(s.temp)
	}
	return nil
}

func (s *dirAway) close() error { return errors.Join(closeDir(&s.temps), closeDir(&s.dir)) }

// dirEmptied removes a directory when all else stands. One that others have put something into stays.
type dirEmptied struct {
	unmoved
	w  *Workspace
	at string
}

var _ step = (*dirEmptied)(nil)

func (s *dirEmptied) path() string                 { return s.at }
func (s *dirEmptied) apply(context.Context) error  { return nil }
func (s *dirEmptied) revert(context.Context) error { return nil }
func (s *dirEmptied) touched() []*durable.Dir      { return nil }
func (s *dirEmptied) close() error                 { return nil }

func (s *dirEmptied) finish(context.Context) error {
	if dir, name, err := s.w.enter(s.at); err == nil {
		_ = dir.RemoveDir(name)
		dir.Close()
	}
	return nil
}

func closeDir(dir **durable.Dir) (err error) {
	if *dir != nil {
		err = (*dir).Close()
	}
	*dir = nil
	return err
}

// dirMade makes a directory; one that others have made meanwhile serves as well.
type dirMade struct {
	unmoved
	w    *Workspace
	at   string
	made bool
	dir  *durable.Dir
	name string
}

var _ step = (*dirMade)(nil)

func (s *dirMade) path() string { return s.at }

func (s *dirMade) apply(context.Context) (err error) {
	if s.dir, s.name, err = s.w.enterListed(s.at); err != nil {
		return pathError("mkdir", s.at, err)
	}
	err = s.dir.Mkdir(s.name, 0o755)
	if s.made = err == nil; errors.Is(err, fs.ErrExist) {
		var st durable.Stat
		if st, err = s.dir.Lstat(s.name); err == nil && !st.Mode.IsDir() {
			err = ErrExists
		}
	}
	return pathError("mkdir", s.at, err)
}

func (s *dirMade) revert(context.Context) error {
	if s.made {
		_ = s.dir.RemoveDir(s.name) // which somebody may use by now
	}
	return nil
}

func (s *dirMade) touched() []*durable.Dir { return []*durable.Dir{s.dir} }

func (s *dirMade) close() error { return closeDir(&s.dir) }

// dirMode sets the permissions of a directory.
type dirMode struct {
	unmoved
	w    *Workspace
	at   string
	mode fs.FileMode
	dir  *durable.Dir
	held *durable.Held
	was  fs.FileMode
}

var _ step = (*dirMode)(nil)

func (s *dirMode) path() string { return s.at }

func (s *dirMode) apply(context.Context) error {
	dir, name, err := s.w.enterListed(s.at)
	if err != nil {
		return pathError("chmod", s.at, err)
	}
	if s.dir = dir; err == nil {
		s.held, err = dir.Hold(name)
	}
	if err == nil {
		var st durable.Stat
		if st, err = s.held.Stat(); err == nil && !st.Mode.IsDir() {
			err = ErrChangedDir
		}
		s.was = st.Mode
	}
	if err == nil {
		err = s.held.Chmod(s.mode)
	}
	return pathError("chmod", s.at, err)
}

func (s *dirMode) revert(context.Context) error { return s.held.Chmod(s.was) }

func (s *dirMode) touched() []*durable.Dir { return []*durable.Dir{s.dir} }

func (s *dirMode) close() (err error) {
	if s.held != nil {
		err = s.held.Close()
	}
	s.held = nil
	return errors.Join(err, closeDir(&s.dir))
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
