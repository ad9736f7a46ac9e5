package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// renaming gives a file another path and keeps its content. Nothing is displaced.
type renaming struct {
	w        *Workspace
	from, to *Target
	want     Hash
	before   *inode
	made     ladder
}

var _ step = (*renaming)(nil)

func (r *renaming) path() string { return r.to.path }

func (r *renaming) touched() []*durable.Dir { return append(r.made.dirs(r.to), r.from.parent) }

func (r *renaming) close() error { return r.made.close() }

func (r *renaming) apply(ctx context.Context) error {
	if !r.before.settled(ctx) {
		return r.w.stale(r.from, r.want)
	}
	if err := r.made.climb(r.to); err != nil {
		return errors.Join(err, r.made.undo(r.to))
	}
	dir := r.made.last(r.to)
	if err := r.from.parent.Move(r.from.name, dir, r.to.name); err != nil {
		undo := r.made.undo(r.to)
		if errors.Is(err, fs.ErrNotExist) {
			return errors.Join(r.w.stale(r.from, r.want), undo)
		}
		return errors.Join(pathError("move", r.to.path, err), undo)
	}
	if is(dir, r.to.name, r.before.stat) && (r.before.leased || r.before.undisturbed()) {
		return nil
	}
	if err := r.back(); err != nil {
		return err
	}
	return r.w.stale(r.from, r.want)
}

// back needs no look at what it moves: whatever was renamed to the new path is given its old one again.
func (r *renaming) back() error {
	if err := r.made.last(r.to).Move(r.to.name, r.from.parent, r.from.name); err != nil {
		return pathError("move", r.from.path, err)
	}
	return r.made.undo(r.to)
}

func (r *renaming) confirm() error {
	if r.before.undisturbed() {
		return nil
	}
	return errDisplaced
}

func (r *renaming) revert(context.Context) error {
	if !is(r.made.last(r.to), r.to.name, r.before.stat) {
		return errNotOurs
	}
	return r.back()
}

func (r *renaming) finish(context.Context) error { return nil }
