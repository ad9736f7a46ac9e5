package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// renaming gives a file another path and keeps its content. Nothing is displaced.
type renaming struct {
	displacing
	to   *Target
	made ladder
}

var _ step = (*renaming)(nil)

func (r *renaming) path() string { return r.to.path }

func (r *renaming) touched() []*durable.Dir { return append(r.made.dirs(r.to), r.at.parent) }

func (r *renaming) close() error { return r.made.close() }

func (r *renaming) apply(ctx context.Context) error {
	if !r.before.same(ctx) {
		return r.stale()
	}
	if err := r.made.climb(r.to); err != nil {
		return errors.Join(err, r.made.undo(r.to))
	}
	dir := r.made.last(r.to)
	if err := r.at.parent.Move(r.at.name, dir, r.to.name); err != nil {
		undo := r.made.undo(r.to)
		if errors.Is(err, fs.ErrNotExist) {
			return errors.Join(r.stale(), undo)
		}
		return errors.Join(pathError("move", r.to.path, err), undo)
	}
	if is(dir, r.to.name, r.before.stat) && r.known() {
		return nil
	}
	if err := r.back(); err != nil {
		return err
	}
	return r.stale()
}

// back needs no look at what it moves: whatever was renamed to the new path is given its old one again.
func (r *renaming) back() error {
	if err := r.made.last(r.to).Move(r.to.name, r.at.parent, r.at.name); err != nil {
		return pathError("move", r.at.path, err)
	}
	return r.made.undo(r.to)
}

func (r *renaming) revert(context.Context) error {
	if !is(r.made.last(r.to), r.to.name, r.before.stat) {
		return errNotOurs
	}
	return r.back()
}

func (r *renaming) finish(context.Context) error { return nil }
