package workspace

import (
	"context"
	"errors"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// takeBackFound undoes what took effect of a set that stopped midway, the last change first. Each file is a change
// of its own: one that others have changed since must not keep the rest from going back.
func (w *Workspace) takeBackFound(ctx context.Context, files []Found) {
	for i := range slices.Backward(files) {
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
	if f.Link {
		return w.takeBackLink(f)
	}
	switch f.Op {
	case change.Created:
		return w.reverse(ctx, Change{Op: change.Deleted, Before: f.After.Hash}, f.Path, "", "")
	case change.Modified:
		return w.reverse(ctx, Change{Op: change.Modified, Before: f.After.Hash}, f.Path, "", f.Temp)
	case change.Deleted:
		w.clearEmpty(f.Path)
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

// clearEmpty removes directories that were made in the place of a file that is to come back, as far as nothing is in them.
func (w *Workspace) clearEmpty(at string) {
	dir, name, err := w.enterListed(at)
	if err != nil {
		return
	}
	defer dir.Close()
	if in, err := dir.OpenDir(name); err == nil {
		entries, _ := in.ReadDir()
		in.Close()
		for _, e := range entries {
			if e.IsDir() {
				w.clearEmpty(at + "/" + e.Name())
			}
		}
		_ = dir.RemoveDir(name)
	}
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
	var old *temp
	locks := lockFiles{w: w}
	defer locks.close()
	if displaced != "" {
		if old, err = w.adopt(ctx, displaced, &locks); err != nil {
			return err
		}
	}
	prepared, err := w.prepare(ctx, []Change{c}, nil, old)
	if err != nil {
		if old != nil {
			err = errors.Join(err, old.close())
		}
		return err
	}
	committed, err := prepared.Commit(ctx)
	if err != nil {
		return err
	}
	if old != nil {
		old.keep = false // what has the name now is the content that was taken back
	}
	return committed.Close()
}

// adopt takes over a displaced file under its temporary name.
func (w *Workspace) adopt(ctx context.Context, name string, locks *lockFiles) (_ *temp, err error) {
	t, err := w.openTemp(name)
	if err != nil {
		return nil, err
	}
	t.keep, t.locks = true, locks
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
	if t.ours, err = w.hold(ctx, t.dir, t.name, t.locks, nil); err != nil {
		return nil, pathError("restore", name, err)
	}
	return t, pathError("restore", name, t.ours.examine(ctx))
}
