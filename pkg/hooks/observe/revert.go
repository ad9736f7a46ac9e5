package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// revert undoes violations where the settings ask for it, and at the level full always takes away what is new: it
// stands where the boundary had to be wider than the scope. What another command may have made that may is left alone,
// and so is what has changed since. What is new goes first, then directories come back, then what stood in them.
//
// All of it goes by what a look has found and a descriptor holds ([workspace.Grip]), or by compare-and-swap: other
// commands may rename and exchange directories at the same time.
func (f *findings) revert(ctx context.Context) {
	if !f.base.Revert && !f.held() || len(f.wrong) == 0 {
		return
	}
	f.kept.files = f.base.Workspace
	f.openDirectories()
	f.revertFiles(ctx, f.isNew)
	f.revertDirectories(change.Created)
	if f.base.Revert {
		f.revertDirectories(change.Deleted)
		f.revertFiles(ctx, func(c *snapshot.Change) bool { return !f.isNew(c) })
		f.revertDirectories(change.Modified)
	}
	if f.kept.blind {
		if err := f.kept.sift(f.base.Snapshots.Secret); err != nil {
			f.warn("Whether secrets are among what was taken away could not be found out (%v): look into %s.", err, f.kept.dir)
		}
	}
	f.kept.close()
	var undone []string
	for _, v := range f.outcome.Violations {
		if v.Reverted {
			undone = append(undone, v.Path)
		}
	}
	f.outcome.Files = slices.DeleteFunc(f.outcome.Files, func(f hooks.FileOutcome) bool { return !f.InScope && slices.Contains(undone, f.Path) })
	if f.kept.some {
		f.detail[detailRemoved] = f.kept.dir
		f.warn("What was taken away is kept in %s for a while, in case somebody else made it.", f.kept.dir)
	}
	if _, some := f.detail[detailKept]; some {
		f.warn("Not all changes that the command should not have made could be taken back; the record says why.")
	}
}

// isNew reports whether a change gave a path out of scope to something, be it made or moved there.
func (f *findings) isNew(c *snapshot.Change) bool {
	return c.Op == change.Created || c.Op == change.Moved && !f.Allows(c.Path)
}

func (f *findings) revertFiles(ctx context.Context, which func(c *snapshot.Change) bool) {
	for i, c := range f.wrong {
		if kindOf(c) != snapshot.Directory && which(c) {
			f.tryBack(i, func() error { return f.takeBack(ctx, c) })
		}
	}
}

// tryBack takes one violation back, and says so or why not. What is not there any more somebody else took away.
func (f *findings) tryBack(i int, back func() error) {
	c := f.wrong[i]
	err := errShared
	if f.takeable(c) {
		err = back()
	}
	if err != nil && !(c.Op == change.Created && errors.Is(err, fs.ErrNotExist)) {
		f.note(detailKept, fmt.Sprintf("%s: %v", f.outcome.Violations[i].Path, err))
		return
	}
	f.outcome.Violations[i].Reverted = true
}

// takeable reports whether a change is the command's, or nobody else's either: no command of the time may have made it,
// and none at all a file that other programs run or are governed by.
func (f *findings) takeable(c *snapshot.Change) bool {
	return !c.Shared || c.Nobodys || workspace.Protect(c.Path) != workspace.ProtectNone && !gitState(c.Path)
}

// revertDirectories undoes what became of directories out of scope, also of those that are no violation of their own
// because a file in them is: those that were made, the deepest first, others the other way about.
func (f *findings) revertDirectories(op change.Op) {
	dirs := slices.Clone(f.dirs)
	if op == change.Created {
		slices.Reverse(dirs)
	}
	for _, c := range dirs {
		if c.Op != op || !f.takeable(c) || f.Allows(c.Path) || f.Allows(c.Path+"/x") {
			continue
		}
		if i := slices.Index(f.wrong, c); i >= 0 {
			f.tryBack(i, func() error { return f.directoryBack(c) })
		} else {
			_ = f.directoryBack(c) // as far as it is empty again
		}
	}
}

// detailKept says of violations why they were not taken back.
const detailKept = "not_reverted"

var (
	errShared   = errors.New("another command ran at the same time and may have made it")
	errNoBefore = errors.New("its content before is not kept")
	errSecret   = errors.New("it is secret: its content is not kept, and somebody else may have made it")
	errSince    = errors.New("it has changed since")
	errHeld     = errors.New("the sandbox let the command make nothing there: somebody else did")
)

// takeBack undoes one change, if everything is as the command left it.
func (f *findings) takeBack(ctx context.Context, c *snapshot.Change) error {
	if c.Secret && c.Before == nil {
		return errSecret
	}
	if err := f.exchanged(c); err != nil {
		return err
	}
	if c.Op == change.Created {
		return f.takeAway(c)
	}
	if c.Op == change.Moved {
		err := f.moveBack(ctx, c)
		if err != nil && f.Allows(c.From) { // it may be taken from there, and not stand here
			err = f.takeAway(c)
		}
		return err
	}
	if !plain(c.Path) {
		return errAwkward
	}
	if (c.Before.Kind == snapshot.File || c.Before.Secret) && unkept(c) {
		return errNoBefore
	}
	if c.After != nil && c.Before.Kind == snapshot.File && c.After.Kind == snapshot.File {
		return f.contentBack(ctx, c)
	}
	if c.After != nil {
		if err := f.takeAway(c); err != nil {
			return err
		}
	}
	return f.make(ctx, c.Path, c.Before)
}

// exchanged is not nil for what is not the command's to have made, nor in its scope where it belongs.
func (f *findings) exchanged(c *snapshot.Change) error {
	if c.Was == "" || f.Allows(c.Was) {
		return nil
	}
	return fmt.Errorf("it is what stood at %s: somebody exchanged names while the command ran", Shown(c.Was))
}

var errAwkward = errors.New("its name has control characters or is not UTF-8")

// grip holds what a change left, if it stands there still.
func (f *findings) grip(c *snapshot.Change) (*workspace.Grip, error) {
	g, err := f.base.Workspace.Hold(c.Path, c.After.Dev, c.After.Ino)
	if errors.Is(err, workspace.ErrReplaced) {
		return nil, errSince
	}
	return g, err
}

// takeAway takes away what the command left at a path, whatever it is.
func (f *findings) takeAway(c *snapshot.Change) error {
	if f.held() && strings.HasPrefix(c.Path, governanceDir+"/") {
		return errHeld
	}
	g, err := f.grip(c)
	if err != nil {
		return err
	}
	defer g.Close()
	defer f.base.Snapshots.Writing([]snapshot.Write{{Path: c.Path, Before: c.After.Hash}}).Done()
	return f.kept.take(c.Path, g, c.After)
}

// openDirectories lets what the command made and closed be taken away.
func (f *findings) openDirectories() {
	for _, c := range f.dirs {
		if c.Op == change.Created && f.takeable(c) && f.exchanged(c) == nil && c.After.Mode.Perm()&0o700 != 0o700 && !f.Allows(c.Path) {
			_ = f.setMode(c, c.After.Mode|0o700)
		}
	}
}

// setMode sets the permissions of what a change left.
func (f *findings) setMode(c *snapshot.Change, mode fs.FileMode) error {
	g, err := f.grip(c)
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Chmod(mode)
}

func (f *findings) directoryBack(c *snapshot.Change) error {
	if err := f.exchanged(c); err != nil {
		return err
	}
	switch {
	case c.Before == nil:
		return f.directoryAway(c)
	case c.After == nil:
		return f.base.Workspace.MakeDir(c.Path, c.Before.Mode)
	}
	return f.setMode(c, c.Before.Mode)
}

// directoryAway removes a directory in which nothing is; one that nobody has looked into is taken away as a whole.
func (f *findings) directoryAway(c *snapshot.Change) error {
	if workspace.TooDeep(c.Path) {
		return f.takeAway(c)
	}
	g, err := f.grip(c)
	if err != nil {
		return err
	}
	writing := f.base.Snapshots.Writing([]snapshot.Write{{Path: c.Path}})
	err = errors.Join(g.RemoveDir(), g.Close())
	if err == nil {
		writing.Done()
		return nil
	}
	writing.Undone()
	if c.After.Mode.Perm()&0o500 != 0o500 && !c.Secret {
		return f.takeAway(c)
	}
	return err
}

// moveBack gives a file its old name; its content is what it was.
func (f *findings) moveBack(ctx context.Context, c *snapshot.Change) error {
	if c.After.Kind == snapshot.File && c.After.Hash != "" && plain(c.Path) && plain(c.From) {
		return f.swap(ctx, change.Moved, c.Path, c.From, c.After.Hash, nil)
	}
	g, err := f.grip(c)
	if err != nil {
		return err
	}
	defer g.Close()
	defer f.base.Snapshots.Writing([]snapshot.Write{{Path: c.Path, Before: c.After.Hash}, {Path: c.From, After: c.After.Hash}}).Done()
	return g.MoveBack(c.From)
}

func (f *findings) contentBack(ctx context.Context, c *snapshot.Change) error {
	if c.Before.Hash == c.After.Hash {
		return f.setMode(c, c.Before.Mode)
	}
	if c.After.Hash == "" {
		return errors.New("it is too large to be looked at")
	}
	if err := f.swap(ctx, change.Modified, c.Path, "", c.After.Hash, c.Before.Bytes); err != nil {
		return err
	}
	if c.Before.Mode != c.After.Mode {
		return f.modeOf(c.Path, c.Before)
	}
	return nil
}

// modeOf sets the permissions of a file that was just put there.
func (f *findings) modeOf(path string, was *snapshot.Content) error {
	g, err := f.base.Workspace.HoldFile(path, was.Hash)
	if err != nil {
		return err
	}
	defer g.Close()
	if g.Mode() == was.Mode {
		return nil
	}
	return g.Chmod(was.Mode)
}

// plain reports whether a name is one that file tools take.
func plain(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl)
}

// make puts back what stood at a path, where nothing does.
func (f *findings) make(ctx context.Context, path string, was *snapshot.Content) error {
	switch was.Kind {
	case snapshot.Link:
		return f.base.Workspace.MakeLink(path, string(was.Bytes))
	case snapshot.Special:
		return errors.New("a FIFO, socket or device is not made again")
	}
	if err := f.swap(ctx, change.Created, path, "", "", was.Bytes); err != nil {
		return err
	}
	return f.modeOf(path, was)
}

// swap makes one change if the file is as the command left it.
func (f *findings) swap(ctx context.Context, op change.Op, path, to, before string, after []byte) error {
	files := f.base.Workspace
	target, err := files.Resolve(path)
	if err != nil {
		return err
	}
	defer target.Close()
	if target.Path() != path {
		return errSince
	}
	write := workspace.Change{Op: op, Target: target, Before: before, After: after}
	written := []snapshot.Write{{Path: path, Before: before}}
	if op == change.Moved {
		if write.To, err = files.Resolve(to); err != nil {
			return err
		}
		defer write.To.Close()
		if write.To.Path() != to {
			return errSince
		}
		written = append(written, snapshot.Write{Path: to, After: before})
	} else {
		written[0].After = workspace.HashOf(after)
		if after == nil {
			write.After = []byte{}
		}
	}
	defer f.base.Snapshots.Writing(written).Done()
	prepared, err := files.Prepare(ctx, []workspace.Change{write})
	if err != nil {
		return err
	}
	settlement, err := prepared.Commit(ctx)
	if err != nil {
		return err
	}
	return settlement.Close()
}
