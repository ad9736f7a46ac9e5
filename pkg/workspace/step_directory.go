package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// dirAway takes a directory away that something takes the place of. It keeps it until the change is closed: what was in it can
// go back there.
type dirAway struct {
	placedAside
	away bool
}

var _ step = (*dirAway)(nil)

func (s *dirAway) apply(context.Context) error {
	err := s.open()
	if err != nil {
		return pathError("remove", s.at, err)
	}
	if err = vacant(s.dir, s.name); err == nil {
		err = s.dir.Move(s.name, s.temps, s.temp)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.away = err == nil; err != nil {
		return pathError("remove", s.at, err)
	}
	if err = vacant(s.temps, s.temp); err != nil { // somebody was quicker
		err = errors.Join(err, s.revert(context.Background()))
	}
	return pathError("remove", s.at, err)
}

// vacant reports, as an error, what stands in a directory.
func vacant(in *durable.Dir, name string) error {
	dir, err := in.OpenDir(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir()
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%w: the directory has something in it that others made (%s)", ErrExists, visible(entries[0].Name()))
	}
	return err
}

func (s *dirAway) revert(context.Context) error {
	if !s.away {
		return nil
	}
	err := s.temps.Move(s.temp, s.dir, s.name)
	s.away = err != nil
	return err
}

func (s *dirAway) finish(context.Context) error {
	if s.away {
		_ = s.temps.RemoveDir(s.temp)
	}
	return nil
}

// dirEmptied removes a directory when all else stands. One that others have put something into stays.
type dirEmptied struct{ placed }

var _ step = (*dirEmptied)(nil)

func (s *dirEmptied) apply(context.Context) error  { return nil }
func (s *dirEmptied) revert(context.Context) error { return nil }
func (s *dirEmptied) touched() []*durable.Dir      { return nil }

func (s *dirEmptied) finish(context.Context) error {
	_ = s.w.in(s.at, (*durable.Dir).RemoveDir)
	return nil
}

// dirMade makes a directory; one that others have made meanwhile serves as well.
type dirMade struct {
	placed
	made bool
}

var _ step = (*dirMade)(nil)

func (s *dirMade) apply(context.Context) error {
	err := s.open()
	if err != nil {
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

// dirMode sets the permissions of a directory.
type dirMode struct {
	placed
	mode fs.FileMode
	held *durable.Held
	was  fs.FileMode
}

var _ step = (*dirMode)(nil)

func (s *dirMode) apply(context.Context) error {
	err := s.open()
	if err == nil {
		s.held, err = s.dir.Hold(s.name)
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

func (s *dirMode) close() (err error) {
	if s.held != nil {
		err = s.held.Close()
	}
	s.held = nil
	return errors.Join(err, s.placed.close())
}
