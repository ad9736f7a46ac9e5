package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// takeBackFound undoes what took effect of a set that stopped midway, the last change first. Each file is a change
// of its own: one that others have changed since must not keep the rest from going back.
func (w *Workspace) takeBackFound(ctx context.Context, files []Found) {
	for i := len(files) - 1; i >= 0; i-- {
		f := &files[i]
		if f.Fate == Undone {
			continue
		}
		if f.Err = w.takeBackOne(ctx, *f); f.Err == nil {
			f.Fate = Undone
		}
	}
}

func (w *Workspace) takeBackOne(ctx context.Context, f Found) error {
	if f.Probable {
		return pathError("restore", f.Path, errNotOurs)
	}
	switch f.Op {
	case change.Created:
		return w.reverse(ctx, Change{Op: change.Deleted, Before: f.After.Hash}, f.Path, "", "")
	case change.Modified:
		return w.reverse(ctx, Change{Op: change.Modified, Before: f.After.Hash}, f.Path, "", f.Temp)
	case change.Deleted:
		return w.reverse(ctx, Change{Op: change.Created}, f.Path, "", f.Temp)
	}
	if f.Temp == "" && f.Fate == Done {
		return w.reverse(ctx, Change{Op: change.Moved, Before: f.After.Hash}, f.Path, f.From, "")
	}
	if f.Fate != Half {
		if err := w.reverse(ctx, Change{Op: change.Created}, f.From, "", f.Gone); err != nil {
			return err
		}
	}
	if f.Fate == Stripped {
		return nil
	}
	return w.reverse(ctx, Change{Op: change.Deleted, Before: f.After.Hash}, f.Path, "", "")
}

// reverse carries out one change with the guarantees of every other one. With displaced, the new content is the very
// inode that the dead process had taken away, under the name that it had given it.
func (w *Workspace) reverse(ctx context.Context, c Change, path, to, displaced string) (err error) {
	if c.Target, err = w.recorded(path); err != nil {
		return err
	}
	defer c.Target.Close()
	if to != "" {
		if c.To, err = w.recorded(to); err != nil {
			return err
		}
		defer c.To.Close()
	}
	if displaced == "" {
		prepared, err := w.Prepare(ctx, []Change{c})
		if err != nil {
			return err
		}
		return settleNow(ctx, prepared, nil)
	}
	old, err := w.adopt(ctx, displaced)
	if err != nil {
		return err
	}
	prepared, err := w.prepareAdopted(ctx, c, old)
	if err != nil {
		return errors.Join(err, old.close())
	}
	return settleNow(ctx, prepared, old)
}

func settleNow(ctx context.Context, p *Prepared, adopted *temp) error {
	s, err := p.Commit(ctx)
	if err != nil {
		return err
	}
	if adopted != nil {
		adopted.keep = false // what has the name now is the content that was taken back
	}
	return s.Close()
}

// adopt takes over a displaced file under its temporary name.
func (w *Workspace) adopt(ctx context.Context, name string) (_ *temp, err error) {
	t, err := w.openTemp(name)
	if err != nil {
		return nil, err
	}
	t.keep = true
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if there, lerr := contentAt(t.dir, t.name); lerr == nil && there == "" {
		if err := t.dir.Move(besideExchange(t.name), t.dir, t.name); err != nil {
			return nil, pathError("restore", name, err)
		}
	}
	if t.ours, err = w.hold(ctx, t.dir, t.name, nil); err != nil {
		return nil, pathError("restore", name, err)
	}
	return t, pathError("restore", name, t.ours.examine(ctx))
}

// prepareAdopted is Prepare for one change whose new content lies ready.
func (w *Workspace) prepareAdopted(ctx context.Context, c Change, old *temp) (_ *Prepared, err error) {
	paths, err := w.validate([]Change{c})
	if err != nil {
		return nil, err
	}
	unlock, err := w.locks.acquire(ctx, paths, w.patience.lock)
	if err != nil {
		return nil, err
	}
	p := &Prepared{w: w, unlock: unlock, planned: []*planned{{Change: c}}}
	if err := p.check(ctx); err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	one := p.planned[0]
	one.describe()
	one.temp, one.result.After.Hash = old, old.ours.hash
	p.steps = one.steps(w)
	return p, nil
}

// sweep leaves what it is not sure of.
func (w *Workspace) sweep(dir *durable.Dir, name string) {
	f, err := openRegular(dir, name)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := durable.StatFile(f)
	if err != nil || time.Since(st.ModTime) < sweepAge {
		return
	}
	l, err := w.tryLock(f, st)
	if err == nil && l.held {
		_ = dir.Remove(name) // the next sweep tries again
	}
	l.release()
}
