package workspace

import (
	"context"
	"errors"
	"io/fs"
)

// relink makes, removes or replaces a symbolic link. After apply the temporary name has the displaced one.
type relink struct {
	placedAside
	from, to string
}

var _ step = (*relink)(nil)

func (s *relink) apply(context.Context) error {
	err := s.open()
	if err == nil {
		err = s.turn(s.from, s.to)
	}
	return pathError("change the link", s.at, err)
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

// close removes what has the temporary name: a link of which the text is known.
func (s *relink) close() (err error) {
	if s.temps != nil {
		if err = s.temps.Remove(s.temp); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, s.placedAside.close())
}
