package workspace

import (
	"context"
	"errors"
	"io/fs"
)

// removal takes a file away from its path and, when all is done, removes it. Verification comes after the
// taking away: what is away cannot be replaced any more.
type removal struct{ displacing }

var _ step = (*removal)(nil)

func (r *removal) apply(ctx context.Context) error {
	if !r.before.same(ctx) {
		return r.stale()
	}
	err := r.at.parent.Move(r.at.name, r.temp.dir, r.temp.name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.stale()
	}
	if err != nil {
		return pathError("delete", r.at.path, r.w.crossed(err))
	}
	if is(r.temp.dir, r.temp.name, r.before.stat) && r.known() {
		return nil
	}
	kept := r.w.giveBack(r.at, r.temp) // first, so that the refusal can say what is there
	return errors.Join(r.stale(), kept)
}

func (r *removal) revert(context.Context) error { return r.w.giveBack(r.at, r.temp) }
