package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// replacement gives a path a new content: after apply the path has temp.ours, and the temporary name has
// before, the displaced inode.
type replacement struct {
	w      *Workspace
	at     *Target
	want   Hash
	before *inode
	temp   *temp
}

var _ step = (*replacement)(nil)

func (r *replacement) path() string { return r.at.path }

func (r *replacement) touched() []*durable.Dir { return []*durable.Dir{r.at.parent} }

func (r *replacement) close() error { return nil }

func (r *replacement) apply(ctx context.Context) error {
	if !r.before.settled(ctx) {
		return r.w.stale(r.at, r.want)
	}
	switch err := r.w.swap(r.at, r.temp, r.before.stat); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errDisplaced):
		return r.w.stale(r.at, r.want)
	case err != nil:
		return err
	}
	out, err := r.temp.dir.Lstat(r.temp.name)
	if err == nil && durable.Same(out, r.before.stat) && r.knownContent() {
		return nil
	}
	return r.refused(errors.Join(err, r.putBack(ctx, out)))
}

// refused is what the caller is told when the path is as others want it again.
func (r *replacement) refused(err error) error {
	if kept := new(KeptError); err == nil || errors.As(err, &kept) {
		return errors.Join(r.w.stale(r.at, r.want), err)
	}
	return err
}

// knownContent compares again where no lease vouches for the time since the content was hashed.
func (r *replacement) knownContent() bool { return r.before.leased || r.before.undisturbed() }

func (r *replacement) confirm() error {
	if r.before.undisturbed() {
		return nil
	}
	return errDisplaced
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
			if r.temp.ours.settled(ctx) {
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
	if durable.Same(what, r.temp.ours.stat) && r.temp.ours.undisturbed() {
		return nil
	}
	if durable.Same(what, r.before.stat) && r.before.undisturbed() {
		return nil
	}
	return r.temp.keepAside(r.w, r.at.path)
}

func (r *replacement) revert(ctx context.Context) error {
	if !is(r.at.parent, r.at.name, r.temp.ours.stat) || !r.temp.ours.settled(ctx) {
		return errors.Join(errNotOurs, r.temp.keepAside(r.w, r.at.path))
	}
	return r.putBack(ctx, r.before.stat)
}

func (r *replacement) finish(ctx context.Context) error {
	return finishDisplaced(ctx, r.w, r.at, r.before, r.temp)
}

// finishDisplaced is the last look at an inode that has no path any more but the temporary one.
func finishDisplaced(ctx context.Context, w *Workspace, at *Target, before *inode, tmp *temp) error {
	if before.untouched() || before.settled(ctx) {
		return nil
	}
	return tmp.keepAside(w, at.path)
}
