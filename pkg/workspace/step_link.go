package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

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
