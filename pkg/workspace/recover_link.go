package workspace

import (
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// textAt is the text of the link at a path, "" where nothing is; is false where something else is.
func textAt(dir *durable.Dir, name string) (text string, is bool, err error) {
	st, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", true, nil
	case err != nil:
		return "", false, err
	case st.Mode&fs.ModeSymlink == 0:
		return "", false, nil
	}
	text, err = dir.Readlink(name)
	return text, err == nil, err
}

// linkAt is the hash of the text of the link at a path of a plan, as contentOf has it of a file.
func (w *Workspace) linkAt(at string) (Hash, error) {
	dir, name, err := w.enter(at)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return otherContent, nil //nolint:nilerr // somebody else has taken the place
	}
	defer dir.Close()
	return hashOfLink(dir, name)
}

func hashOfLink(dir *durable.Dir, name string) (Hash, error) {
	text, is, err := textAt(dir, name)
	switch {
	case err != nil:
		return "", err
	case !is:
		return otherContent, nil
	}
	return textVersion(text).Hash, nil
}

func (w *Workspace) linkAtTemp(name string) (hash Hash, err error) {
	err = w.atTemp(name, func(t *temp) (err error) {
		hash, err = hashOfLink(t.dir, t.name)
		return err
	})
	return hash, err
}

// examineLink tells the fate of the change of a link.
func (w *Workspace) examineLink(p change.Planned) (Found, error) {
	f := Found{Planned: p, Fate: Undone}
	at, err := w.linkAt(p.Path)
	if err != nil {
		return f, err
	}
	temp, err := w.linkAtTemp(p.Temp)
	switch {
	case err != nil:
		return f, err
	case p.Op == change.Deleted && temp == p.Before.Hash, p.Op != change.Deleted && at == p.After.Hash:
		f.Fate = Done
	case p.Op != change.Created && temp == p.Before.Hash, p.Op == change.Deleted && at == "":
		f.Fate, f.Probable = Done, true // and changed by others since
	}
	return f, nil
}

// takeBackLink puts the link of before in the place of the new one, if that is there still.
func (w *Workspace) takeBackLink(f Found) error {
	dir, name, err := w.enterListed(f.Path)
	if err != nil {
		return pathError("restore", f.Path, err)
	}
	defer dir.Close()
	now, err := hashOfLink(dir, name)
	if err == nil && now != f.After.Hash {
		err = errNotOurs
	}
	if err == nil && f.Op != change.Deleted {
		err = dir.Remove(name)
	}
	if err == nil && f.Op != change.Created {
		var t *temp
		if t, err = w.openTemp(f.Temp); err == nil {
			err = t.dir.Move(t.name, dir, name)
			t.close()
		}
	}
	if err == nil && w.durability == Full {
		err = w.flushAbove(f.Path)
	}
	return pathError("restore", f.Path, err)
}

// tidyLink removes a displaced link.
func (w *Workspace) tidyLink(p change.Planned) error {
	return w.atTemp(p.Temp, func(t *temp) error {
		if text, is, err := textAt(t.dir, t.name); err != nil || !is || text == "" {
			return err
		}
		return t.dir.Remove(t.name)
	})
}
