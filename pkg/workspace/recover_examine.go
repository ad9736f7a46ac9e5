package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// otherContent stands for what is no regular file; no hash is equal to it.
const otherContent Hash = "not a regular file"

// examine tells a change's fate. The temporary name is the better witness than the path, because nobody else has
// business there: a displaced file under it proves that the change happened, the new content that it did not.
func (w *Workspace) examine(p change.Planned) (Found, error) {
	if p.Link {
		return w.examineLink(p)
	}
	f := Found{Planned: p}
	at, err := w.contentOf(p.Path)
	if err != nil {
		return f, err
	}
	temp, err := w.contentOfTemp(p.Temp)
	if err != nil {
		return f, err
	}
	one := temp != "" && temp == at && w.oneFile(p.Path, p.Temp, w.openTemp)
	switch p.Op {
	case change.Created:
		if temp != "" && at == p.After.Hash && !one {
			at = otherContent // somebody else's file that happens to have the same content
		}
		f.Fate, f.Probable = fateOfCreate(p, at, temp)
	case change.Modified:
		if p.Before.Hash == p.After.Hash && p.Before.Mode != p.After.Mode {
			f.Fate, err = w.fateOfMode(p, temp != "" && !one)
			return f, err
		}
		if one {
			temp = "" // what the path has tells all
		}
		f.Fate, f.Probable = fateOfModify(p, at, temp)
	case change.Deleted:
		if one {
			temp = ""
		}
		f.Fate, f.Probable = fateOfDelete(at, temp)
	case change.Moved:
		err = w.fateOfMove(&f, at, temp)
	default:
		err = fmt.Errorf("%w: unknown operation %v", ErrConflict, p.Op)
	}
	f.Probable = f.Probable && f.Fate != Undone
	return f, err
}

// examineStanding tells what was taken back from what others have changed before it could be.
func (w *Workspace) examineStanding(f *Found) error {
	place := f.Path
	if f.Op == change.Moved {
		place = f.From
	}
	now, err := w.contentOf(place)
	if err == nil && now != f.Before.Hash {
		f.Fate, f.Probable = Done, true
	}
	return err
}

// oneFile reports whether a path of a plan and another one, which open opens, are one file. For a temporary name it is so
// where the rename was done by link and unlink and interrupted between the two, or a power cut kept one half of it.
func (w *Workspace) oneFile(path, other string, open func(string) (*temp, error)) bool {
	a, err := w.recorded(path)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := open(other)
	if err != nil {
		return false
	}
	defer b.close()
	st, err := b.dir.Lstat(b.name)
	return err == nil && is(a.parent, a.name, st)
}

// standing is a path of a plan as a name that can be looked at like a temporary one.
func (w *Workspace) standing(path string) (*temp, error) {
	t, err := w.recorded(path)
	if err != nil {
		return nil, err
	}
	at := &temp{dir: t.parent, owned: t.parent != w.top, name: t.name}
	t.parent = nil
	return at, t.Close()
}

// fateOfCreate: the new content leaves its temporary name when it gets its path.
func fateOfCreate(p change.Planned, at, temp Hash) (Fate, bool) {
	switch {
	case temp != "" && at != p.After.Hash:
		return Undone, false
	case at == p.After.Hash:
		return Done, false
	}
	// Made and then changed by others; or given up, and its temporary file removed, in the moment of the crash.
	if at != "" {
		return Done, true
	}
	return Undone, true
}

func fateOfModify(p change.Planned, at, temp Hash) (Fate, bool) {
	switch {
	case temp == p.Before.Hash:
		return Done, false
	case temp == p.After.Hash:
		return Undone, false
	case at == p.After.Hash:
		return Done, false
	case temp == "" || at == p.Before.Hash:
		return Undone, temp != ""
	}
	return Done, true // somebody wrote into what was displaced, and somebody changed what took its place
}

// fateOfMode is that of a change of permissions alone: the temporary name has the old ones if it took effect, and without
// one the path has the new ones.
func (w *Workspace) fateOfMode(p change.Planned, displaced bool) (Fate, error) {
	open, name, mode := w.standing, p.Path, p.After.Mode
	if displaced {
		open, name, mode = w.openTemp, p.Temp, p.Before.Mode
	}
	want, _ := mode.FileMode()
	at, err := open(name)
	if unusable(err) {
		return Undone, nil
	}
	if err != nil {
		return 0, err
	}
	defer at.close()
	st, err := at.dir.Lstat(at.name)
	if errors.Is(err, fs.ErrNotExist) {
		st, err = at.dir.Lstat(besideExchange(at.name))
	}
	switch {
	case err == nil && st.Mode.Perm() == want.Perm():
		return Done, nil
	case errors.Is(err, fs.ErrNotExist):
		return Undone, nil
	}
	return Undone, pathError("look at", p.Path, err)
}

func fateOfDelete(at, temp Hash) (Fate, bool) {
	switch {
	case temp != "":
		return Done, false
	case at != "":
		return Undone, false
	}
	return Done, true
}

func (w *Workspace) fateOfMove(f *Found, at, temp Hash) error {
	from, err := w.contentOf(f.From)
	if err != nil {
		return err
	}
	gone, err := w.contentOfTemp(f.Gone)
	if err != nil {
		return err
	}
	if gone != "" && gone == from && w.oneFile(f.From, f.Gone, w.openTemp) {
		gone = "" // it was not taken away after all
	}
	switch {
	case gone != "" && (at == "" || temp != "" && at != f.After.Hash):
		f.Fate = Stripped
	case gone != "":
		f.Fate = Done
	case f.Temp != "" && temp != "" && at != f.After.Hash:
		f.Fate = Undone
	case from != "" && at == f.After.Hash && (f.Temp != "" || w.oneFile(f.From, f.Path, w.standing)):
		f.Fate = Half
	case from != "" || at == "":
		f.Fate, f.Probable = Undone, from != f.Before.Hash
	default:
		f.Fate, f.Probable = Done, at != f.After.Hash
	}
	return nil
}

// contentOf hashes what stands at a path, "" if nothing does.
func (w *Workspace) contentOf(path string) (Hash, error) {
	t, err := w.recorded(path)
	if unusable(err) {
		return otherContent, nil
	}
	if err != nil {
		return "", err
	}
	defer t.Close()
	if t.kind == Directory {
		return otherContent, nil
	}
	if len(t.rest) > 0 {
		return "", nil
	}
	hash, err := contentAt(t.parent, t.name)
	return hash, pathError("read", path, err)
}

func (w *Workspace) contentOfTemp(name string) (hash Hash, err error) {
	err = w.atTemp(name, func(t *temp) (err error) {
		hash, err = contentAt(t.dir, t.name)
		if hash == "" && err == nil { // the way without an exchange was interrupted between its two renames
			hash, err = contentAt(t.dir, besideExchange(t.name))
		}
		return pathError("read", name, err)
	})
	return hash, err
}

func contentAt(dir *durable.Dir, name string) (Hash, error) {
	f, err := openRegular(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, ErrNotRegular):
		return otherContent, nil
	case err != nil:
		return "", err
	}
	defer f.Close()
	return HashFile(f)
}

// besideExchange is the second name that overwrite gives to an old inode.
func besideExchange(temp string) string {
	return strings.TrimSuffix(temp, tempSuffix) + "-old" + tempSuffix
}

// openTemp opens the directory of a temporary file that another process named. It is either the shared one or that
// of some file; no link is followed.
func (w *Workspace) openTemp(path string) (*temp, error) {
	names := components(path)
	last := len(names) - 1
	if last < 0 || !IsTemp(names[last]) || slices.Contains(names, "..") {
		return nil, pathError("open", path, fmt.Errorf("%w: it is not the name of a temporary file", ErrInvalidPath))
	}
	dir, err := w.descend(names[:last], func(*durable.Dir) error { return nil })
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &temp{dir: dir, owned: true, name: names[last], path: path}, nil
}

// atTemp does something with a temporary name of a plan. It does nothing where that is "", or none that can have anything.
func (w *Workspace) atTemp(name string, do func(*temp) error) error {
	t, err := w.openTemp(name)
	if errors.Is(err, fs.ErrNotExist) || unusable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.close()
	return do(t)
}
