package workspace

import (
	"context"
	"errors"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// placed is what the steps of links and directories share. They displace nothing that others could write into, and what is at
// their path is a name in a directory that apply opens.
type placed struct {
	w    *Workspace
	at   string
	dir  *durable.Dir
	name string
}

func (s *placed) path() string { return s.at }

func (s *placed) open() (err error) {
	s.dir, s.name, err = s.w.enterListed(s.at)
	return err
}

func (s *placed) touched() []*durable.Dir { return []*durable.Dir{s.dir} }

func (s *placed) close() error { return closeDir(&s.dir) }

func (s *placed) confirm() error                    { return nil }
func (s *placed) finish(context.Context) error      { return nil }
func (s *placed) afterWriter(context.Context) error { return nil }

// placedAside is placed for a step that gives what it takes away a name in the shared directory.
type placedAside struct {
	placed
	temps *durable.Dir
	temp  string // in temps
}

func (s *placedAside) open() (err error) {
	if err = s.placed.open(); err == nil {
		s.temps, err = s.w.openState(tempDir)
	}
	return err
}

func (s *placedAside) close() error { return errors.Join(closeDir(&s.temps), s.placed.close()) }

func closeDir(dir **durable.Dir) (err error) {
	if *dir != nil {
		err = (*dir).Close()
	}
	*dir = nil
	return err
}
