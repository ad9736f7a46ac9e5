package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// creation gives a path its first content, making the directories that are missing above it.
type creation struct {
	displacing // of which it has the place and the new file
	made       ladder
}

var _ step = (*creation)(nil)

func (c *creation) touched() []*durable.Dir { return c.made.dirs(c.at) }

func (c *creation) close() error { return c.made.close() }

func (c *creation) apply(context.Context) error {
	if err := c.made.climb(c.at); err != nil {
		return errors.Join(err, c.made.undo(c.at))
	}
	if err := c.temp.dir.Move(c.temp.name, c.made.last(c.at), c.at.name); err != nil {
		return errors.Join(pathError("create", c.at.path, c.w.crossed(err)), c.made.undo(c.at))
	}
	return nil
}

func (c *creation) revert(ctx context.Context) error {
	dir := c.made.last(c.at)
	if !is(dir, c.at.name, c.temp.ours.stat) || !c.temp.ours.same(ctx) {
		return errNotOurs
	}
	if err := dir.Move(c.at.name, c.temp.dir, c.temp.name); err != nil {
		return err
	}
	// Between the look and the move somebody can have put his own file there, or begun to write into ours.
	if !is(c.temp.dir, c.temp.name, c.temp.ours.stat) || !c.temp.ours.undisturbed() {
		if err := c.temp.dir.Move(c.temp.name, dir, c.at.name); err != nil {
			return errors.Join(errNotOurs, err, c.temp.keepAside(c.w, c.at.path))
		}
		return errNotOurs
	}
	return c.made.undo(c.at)
}

// ladder is the chain of directories below a target's bound parent that did not exist when it was resolved.
type ladder struct{ rungs []rung }

type rung struct {
	name string
	dir  *durable.Dir
	made bool // by us, so to be removed when the change is taken back
}

// climb makes and opens the chain. A directory that others have made meanwhile serves as well; a link does not.
func (l *ladder) climb(t *Target) error {
	at := t.parent
	for _, name := range t.rest {
		err := at.Mkdir(name, 0o755)
		made := err == nil
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return pathError("mkdir", t.path, err)
		}
		dir, err := at.OpenDir(name)
		if err != nil {
			return pathError("create", t.path, fmt.Errorf("%w (%s is no directory)", ErrChangedDir, visible(name)))
		}
		l.rungs = append(l.rungs, rung{name, dir, made})
		at = dir
	}
	return nil
}

// last is the directory that the file itself is in.
func (l *ladder) last(t *Target) *durable.Dir {
	if len(l.rungs) == 0 {
		return t.parent
	}
	return l.rungs[len(l.rungs)-1].dir
}

// dirs lists the deepest first, in which the file is: were the one above flushed before it, a file that was moved down
// from there would for a moment be durable at neither place.
func (l *ladder) dirs(t *Target) []*durable.Dir {
	var dirs []*durable.Dir
	for _, r := range slices.Backward(l.rungs) {
		dirs = append(dirs, r.dir)
	}
	return append(dirs, t.parent)
}

// undo removes the directories that climb made, from the last, as far as they are empty.
func (l *ladder) undo(t *Target) error {
	for i := len(l.rungs) - 1; i >= 0; i-- {
		above := t.parent
		if i > 0 {
			above = l.rungs[i-1].dir
		}
		if l.rungs[i].made && above.RemoveDir(l.rungs[i].name) != nil {
			break // somebody uses it by now
		}
	}
	return l.close()
}

func (l *ladder) close() error {
	var err error
	for _, r := range l.rungs {
		err = errors.Join(err, r.dir.Close())
	}
	l.rungs = nil
	return err
}
