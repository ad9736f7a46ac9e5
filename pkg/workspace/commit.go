package workspace

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Commit waits until the new contents are on disk, makes all changes visible, flushes their directories, and makes sure
// that nobody wrote into what was displaced. On an error everything that was done has been taken back (a RollbackError
// names what could not be), and nothing is held any more. ctx is honoured until the first change; from there on Commit
// goes to the end.
func (p *Prepared) Commit(ctx context.Context) (*Committed, error) {
	if p.done {
		return nil, errors.New("these changes have already been committed or discarded")
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	if err := p.awaitFlush(); err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	ctx = context.WithoutCancel(ctx)
	applied, err := p.apply(ctx)
	if err == nil {
		err = p.w.flushDirs(applied)
	}
	if err == nil {
		err = p.confirm()
	}
	if err != nil {
		err = p.w.takeBack(ctx, applied, err)
		return nil, errors.Join(err, p.closeSteps(), p.Discard())
	}
	p.done = true
	return &Committed{p: p}, nil
}

// apply goes through the steps until one fails, and returns those that took effect.
func (p *Prepared) apply(ctx context.Context) ([]step, error) {
	for i, s := range p.steps {
		if err := s.apply(ctx); err != nil {
			return p.steps[:i], pathError("change", s.path(), err)
		}
	}
	return p.steps, nil
}

// confirm makes sure that what was changed is where the caller thinks it is, and that nobody wrote into what was
// displaced.
func (p *Prepared) confirm() error {
	at := ways{}
	for _, c := range p.planned {
		for _, t := range c.targets() {
			if err := at.bound(t); err != nil && !p.below(t.path) {
				return pathError(c.Op.Verb(), t.path, err)
			}
		}
	}
	for _, s := range p.steps {
		if err := s.confirm(); err != nil {
			return &unconfirmed{s, err}
		}
	}
	return nil
}

// below reports whether a path is below a directory that the set itself took away.
func (p *Prepared) below(at string) bool {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if p.freed[dir] {
			return true
		}
	}
	return false
}

// unconfirmed is turned into a StaleError when the other writer has been let go on.
type unconfirmed struct {
	step step
	err  error
}

func (u *unconfirmed) Error() string { return u.step.path() + ": " + u.err.Error() }

func (u *unconfirmed) Unwrap() error { return u.err }

// takeBack reverts the steps, the last one first, and returns what the caller is told.
func (w *Workspace) takeBack(ctx context.Context, applied []step, cause error) error {
	var paths []string
	var errs []error
	for _, s := range slices.Backward(applied) {
		if err := s.revert(ctx); err != nil {
			paths = append(paths, s.path())
			errs = append(errs, pathError("restore", s.path(), err))
		}
	}
	if len(applied) > 0 {
		if err := w.flushDirs(applied); err != nil {
			errs = append(errs, err)
		}
	}
	if broken := new(unconfirmed); errors.As(cause, &broken) {
		cause = broken.step.afterWriter(ctx)
	}
	if len(errs) == 0 {
		return cause
	}
	return &RollbackError{Paths: paths, Cause: cause, Err: errors.Join(errs...)}
}

// flushDirs flushes each touched directory once.
func (w *Workspace) flushDirs(steps []step) error {
	if w.durability != Full {
		return nil
	}
	var flushed []durable.Stat
	for _, s := range steps {
		for _, dir := range s.touched() {
			st, err := dir.Stat()
			if err == nil && !among(flushed, st) {
				flushed = append(flushed, st)
				err = dir.Sync()
			}
			if err != nil {
				return pathError("flush", s.path(), err)
			}
		}
	}
	return nil
}

func (p *Prepared) closeSteps() error {
	var err error
	for _, s := range p.steps {
		err = errors.Join(err, s.close())
	}
	return err
}

// Committed is a committed set of changes whose before-images and locks are still held. It must be closed.
// Its methods are not to be called concurrently.
type Committed struct {
	p        *Prepared
	reverted bool
	closed   bool
}

// Files is what happened, in the order of the changes.
func (s *Committed) Files() []Result {
	files := make([]Result, len(s.p.planned))
	for i, c := range s.p.planned {
		files[i] = c.result
	}
	return files
}

// Before is the content that the i-th change found, read from the displaced inode itself, until Close. It is
// nil for Create.
func (s *Committed) Before(i int) *io.SectionReader {
	before := s.p.planned[i].before
	if before == nil || before.file == nil {
		return nil
	}
	return io.NewSectionReader(before.file, 0, before.stat.Size)
}

// Rollback puts the before-images back wherever the file still has the content that this change gave it. For
// the others the RollbackError names the paths; they are left alone.
func (s *Committed) Rollback(ctx context.Context) error {
	if s.reverted || s.closed {
		return errors.New("these changes have already been closed or taken back")
	}
	s.reverted = true
	return s.p.w.takeBack(context.WithoutCancel(ctx), s.p.steps, nil)
}

// Close removes the displaced files and gives the locks back. A KeptError says that another program wrote
// into a displaced file at the last moment, and where that content is; the change stands nevertheless.
func (s *Committed) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	defer s.p.unlock()
	var err error
	if !s.reverted {
		for _, step := range s.p.steps {
			err = errors.Join(err, step.finish(context.Background()))
		}
	}
	return errors.Join(err, s.p.closeSteps(), s.p.release())
}
