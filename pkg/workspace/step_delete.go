package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// removal takes a file away from its path and, when all is settled, removes it. Verification comes after the
// taking away: what is away cannot be replaced any more.
type removal struct {
	w      *Workspace
	at     *Target
	want   Hash
	before *inode
	temp   *temp
}

var _ step = (*removal)(nil)

func (r *removal) path() string { return r.at.path }

func (r *removal) touched() []*durable.Dir { return []*durable.Dir{r.at.parent} }

func (r *removal) close() error { return nil }

func (r *removal) apply(ctx context.Context) error {
	if !r.before.settled(ctx) {
		return r.w.stale(r.at, r.want)
	}
	err := r.at.parent.Move(r.at.name, r.temp.dir, r.temp.name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.w.stale(r.at, r.want)
	}
	if err != nil {
		return pathError("delete", r.at.path, r.w.crossed(err))
	}
	if is(r.temp.dir, r.temp.name, r.before.stat) && (r.before.leased || r.before.undisturbed()) {
		return nil
	}
	kept := r.w.giveBack(r.at, r.temp) // first, so that the refusal can say what is there
	return errors.Join(r.w.stale(r.at, r.want), kept)
}

func (r *removal) confirm() error {
	if r.before.undisturbed() {
		return nil
	}
	return errDisplaced
}

func (r *removal) revert(context.Context) error { return r.w.giveBack(r.at, r.temp) }

func (r *removal) finish(ctx context.Context) error {
	return finishDisplaced(ctx, r.w, r.at, r.before, r.temp)
}
