package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// replacement gives a path a new content: after apply the path has temp.ours, and the temporary name has
// before, the displaced inode.
type replacement struct{ displacing }

var _ step = (*replacement)(nil)

func (r *replacement) apply(ctx context.Context) error {
	if !r.before.same(ctx) {
		return r.stale()
	}
	switch err := r.w.swap(r.at, r.temp, r.before.stat); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errDisplaced):
		return r.stale()
	case err != nil:
		return err
	}
	out, err := r.temp.dir.Lstat(r.temp.name)
	if err == nil && durable.Same(out, r.before.stat) && r.known() {
		return nil
	}
	err = errors.Join(err, r.putBack(ctx, out))
	if kept := new(KeptError); err == nil || errors.As(err, &kept) {
		return errors.Join(r.stale(), err) // the path is as others want it again
	}
	return err
}

// putBack exchanges until what comes out is what was put in, so that the last thing that others placed at the
// path is what stays there. out is what has the temporary name now; the path had ours when out came from it.
//
// What comes out can be: our file, untouched: done. Our file, into which somebody has begun to write: that is
// his content and goes back. Another file, renamed into place while ours was there: it is the newest and goes
// back; what it takes the place of is kept aside.
func (r *replacement) putBack(ctx context.Context, out durable.Stat) error {
	in := r.temp.ours.stat
	for range exchangeRounds {
		err := r.w.swap(r.at, r.temp, in)
		if errors.Is(err, fs.ErrNotExist) {
			return r.w.giveBack(r.at, r.temp) // somebody has removed ours
		}
		if err != nil {
			return errors.Join(err, r.keepForeign(out))
		}
		next, err := r.temp.dir.Lstat(r.temp.name)
		if err != nil {
			return errors.Join(err, r.temp.keepAside(r.w, r.at.path))
		}
		if durable.Same(next, in) {
			if !durable.Same(in, r.temp.ours.stat) {
				return r.keepForeign(in)
			}
			if r.temp.ours.same(ctx) {
				return nil
			}
		}
		in, out = out, next
	}
	return errors.Join(ErrBusy, r.keepForeign(out))
}

// keepForeign keeps what has the temporary name, unless it is our own file or the before-image, whose loss
// costs nobody anything.
func (r *replacement) keepForeign(what durable.Stat) error {
	for _, own := range []*inode{r.temp.ours, r.before} {
		if durable.Same(what, own.stat) && own.undisturbed() {
			return nil
		}
	}
	return r.temp.keepAside(r.w, r.at.path)
}

func (r *replacement) revert(ctx context.Context) error {
	if !is(r.at.parent, r.at.name, r.temp.ours.stat) || !r.temp.ours.same(ctx) {
		return errors.Join(errNotOurs, r.temp.keepAside(r.w, r.at.path))
	}
	return r.putBack(ctx, r.before.stat)
}
