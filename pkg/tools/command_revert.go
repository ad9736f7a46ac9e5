package tools

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
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// revert undoes violations where the settings ask for it, and at the level full
// always takes away what is new: it stands where the boundary had to be wider
// than the scope. What another command may have made that may is left alone,
// and so is what has changed since. What is new goes first, then directories
// come back, then what stood in them.
//
// All of it goes by what a look has found and a descriptor holds
// ([workspace.Grip]), or by compare-and-swap: other commands may rename and
// exchange directories at the same time.
func (a *account) revert(ctx context.Context) {
	full := a.outcome.Command.Sandbox == string(sandbox.Full)
	if !a.deps.RevertViolations && !full || len(a.wrong) == 0 {
		return
	}
	a.kept.files = a.deps.Workspace
	a.openDirectories()
	a.revertFiles(ctx, a.isNew)
	a.revertDirectories(change.Created)
	if a.deps.RevertViolations {
		a.revertDirectories(change.Deleted)
		a.revertFiles(ctx, func(c *snapshot.Change) bool { return !a.isNew(c) })
		a.revertDirectories(change.Modified)
	}
	if a.kept.blind {
		if err := sift(a.kept.at, "", a.deps.Snapshots.Secret); err != nil {
			a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("Whether secrets are among what was taken away could not be found out (%v): look into %s.", err, a.kept.dir))
		}
	}
	a.kept.close()
	var undone []string
	for _, v := range a.outcome.Violations {
		if v.Reverted {
			undone = append(undone, v.Path)
		}
	}
	a.outcome.Files = slices.DeleteFunc(a.outcome.Files, func(f hooks.FileOutcome) bool { return !f.InScope && slices.Contains(undone, f.Path) })
	if a.kept.some {
		a.Detail[detailRemoved] = a.kept.dir
		a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("What was taken away is kept in %s for a while, in case somebody else made it.", a.kept.dir))
	}
	if _, some := a.Detail[detailKept]; some {
		a.outcome.Warnings = append(a.outcome.Warnings, "Not all changes that the command should not have made could be taken back; the record says why.")
	}
}

// isNew reports whether a change gave a path out of scope to something, be it
// made or moved there.
func (a *account) isNew(c *snapshot.Change) bool {
	return c.Op == change.Created || c.Op == change.Moved && a.Objection(c.Path) != ""
}

func (a *account) revertFiles(ctx context.Context, which func(c *snapshot.Change) bool) {
	for i, c := range a.wrong {
		if kindOf(c) != snapshot.Directory && which(c) {
			a.reverted(i, func() error { return a.takeBack(ctx, c) })
		}
	}
}

// reverted takes one violation back, and says so or why not. What is not there
// any more somebody else took away.
func (a *account) reverted(i int, back func() error) {
	c := a.wrong[i]
	err := errShared
	if a.takeable(c) {
		err = back()
	}
	if err != nil && !(c.Op == change.Created && errors.Is(err, fs.ErrNotExist)) {
		a.Note(detailKept, fmt.Sprintf("%s: %v", a.outcome.Violations[i].Path, err))
		return
	}
	a.outcome.Violations[i].Reverted = true
}

// takeable reports whether a change is the command's, or nobody else's either:
// no command of the time may have made it, and none at all a file that other
// programs run or are governed by.
func (a *account) takeable(c *snapshot.Change) bool {
	return !c.Shared || c.Nobodys || workspace.Protect(c.Path) != workspace.ProtectNone && !trace.GitState(c.Path)
}

// revertDirectories undoes what became of directories out of scope, also of
// those that are no violation of their own because a file in them is: those
// that were made, the deepest first, others the other way about.
func (a *account) revertDirectories(op change.Op) {
	dirs := slices.Clone(a.dirs)
	if op == change.Created {
		slices.Reverse(dirs)
	}
	for _, c := range dirs {
		if c.Op != op || !a.takeable(c) || a.Objection(c.Path) == "" || a.Objection(c.Path+"/x") == "" {
			continue
		}
		if i := slices.Index(a.wrong, c); i >= 0 {
			a.reverted(i, func() error { return a.directoryBack(c) })
		} else {
			_ = a.directoryBack(c) // as far as it is empty again
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
func (a *account) takeBack(ctx context.Context, c *snapshot.Change) error {
	if c.Secret && c.Before == nil {
		return errSecret
	}
	if err := a.exchanged(c); err != nil {
		return err
	}
	if c.Op == change.Created {
		return a.takeAway(c)
	}
	if c.Op == change.Moved {
		err := a.moveBack(ctx, c)
		if err != nil && a.Objection(c.From) == "" { // it may be taken from there, and not stand here
			err = a.takeAway(c)
		}
		return err
	}
	if !plain(c.Path) {
		return errAwkward
	}
	if (c.Before.Kind == snapshot.File || c.Before.Secret) && !c.Before.Known && (c.After == nil || c.After.Hash != c.Before.Hash || c.Before.Hash == "") {
		return errNoBefore
	}
	if c.After != nil && c.Before.Kind == snapshot.File && c.After.Kind == snapshot.File {
		return a.contentBack(ctx, c)
	}
	if c.After != nil {
		if err := a.takeAway(c); err != nil {
			return err
		}
	}
	return a.make(ctx, c.Path, c.Before)
}

// exchanged is not nil for what is not the command's to have made, nor in its scope where it belongs.
func (a *account) exchanged(c *snapshot.Change) error {
	if c.Was == "" || a.Objection(c.Was) == "" {
		return nil
	}
	return fmt.Errorf("it is what stood at %s: somebody exchanged names while the command ran", trace.Shown(c.Was))
}

var errAwkward = errors.New("its name has control characters or is not UTF-8")

// grip holds what a change left, if it stands there still.
func (a *account) grip(c *snapshot.Change) (*workspace.Grip, error) {
	g, err := a.deps.Workspace.Hold(c.Path, c.After.Dev, c.After.Ino)
	if errors.Is(err, workspace.ErrReplaced) {
		return nil, errSince
	}
	return g, err
}

// takeAway takes away what the command left at a path, whatever it is.
func (a *account) takeAway(c *snapshot.Change) error {
	if a.heldByKernel() && strings.HasPrefix(c.Path, governanceDir+"/") {
		return errHeld
	}
	g, err := a.grip(c)
	if err != nil {
		return err
	}
	defer g.Close()
	defer a.deps.Snapshots.Writing([]snapshot.Write{{Path: c.Path, Before: c.After.Hash}}).Done()
	return a.kept.take(c.Path, g, c.After)
}

// openDirectories lets what the command made and closed be taken away.
func (a *account) openDirectories() {
	for _, c := range a.dirs {
		if c.Op == change.Created && a.takeable(c) && a.exchanged(c) == nil && c.After.Mode.Perm()&0o700 != 0o700 && a.Objection(c.Path) != "" {
			_ = a.setMode(c, c.After.Mode|0o700)
		}
	}
}

// setMode sets the permissions of what a change left.
func (a *account) setMode(c *snapshot.Change, mode fs.FileMode) error {
	g, err := a.grip(c)
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Chmod(mode)
}

func (a *account) directoryBack(c *snapshot.Change) error {
	if err := a.exchanged(c); err != nil {
		return err
	}
	switch {
	case c.Before == nil:
		return a.directoryAway(c)
	case c.After == nil:
		return a.deps.Workspace.MakeDir(c.Path, c.Before.Mode)
	}
	return a.setMode(c, c.Before.Mode)
}

// directoryAway removes a directory in which nothing is; one that nobody has
// looked into is taken away as a whole.
func (a *account) directoryAway(c *snapshot.Change) error {
	if workspace.TooDeep(c.Path) {
		return a.takeAway(c)
	}
	g, err := a.grip(c)
	if err != nil {
		return err
	}
	writing := a.deps.Snapshots.Writing([]snapshot.Write{{Path: c.Path}})
	err = errors.Join(g.RemoveDir(), g.Close())
	if err == nil {
		writing.Done()
		return nil
	}
	writing.Undone()
	if c.After.Mode.Perm()&0o500 != 0o500 && !c.Secret {
		return a.takeAway(c)
	}
	return err
}

// moveBack gives a file its old name; its content is what it was.
func (a *account) moveBack(ctx context.Context, c *snapshot.Change) error {
	if c.After.Kind == snapshot.File && c.After.Hash != "" && plain(c.Path) && plain(c.From) {
		return a.swap(ctx, change.Moved, c.Path, c.From, c.After.Hash, nil)
	}
	g, err := a.grip(c)
	if err != nil {
		return err
	}
	defer g.Close()
	defer a.deps.Snapshots.Writing([]snapshot.Write{{Path: c.Path, Before: c.After.Hash}, {Path: c.From, After: c.After.Hash}}).Done()
	return g.MoveBack(c.From)
}

func (a *account) contentBack(ctx context.Context, c *snapshot.Change) error {
	if c.Before.Hash == c.After.Hash {
		return a.setMode(c, c.Before.Mode)
	}
	if c.After.Hash == "" {
		return errors.New("it is too large to be looked at")
	}
	if err := a.swap(ctx, change.Modified, c.Path, "", c.After.Hash, c.Before.Bytes); err != nil {
		return err
	}
	if c.Before.Mode != c.After.Mode {
		return a.modeOf(c.Path, c.Before)
	}
	return nil
}

// modeOf sets the permissions of a file that was just put there.
func (a *account) modeOf(path string, was *snapshot.Content) error {
	g, err := a.deps.Workspace.HoldFile(path, workspace.Hash(was.Hash))
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
func (a *account) make(ctx context.Context, path string, was *snapshot.Content) error {
	switch was.Kind {
	case snapshot.Link:
		return a.deps.Workspace.MakeLink(path, string(was.Bytes))
	case snapshot.Special:
		return errors.New("a FIFO, socket or device is not made again")
	}
	if err := a.swap(ctx, change.Created, path, "", "", was.Bytes); err != nil {
		return err
	}
	return a.modeOf(path, was)
}

// swap makes one change if the file is as the command left it.
func (a *account) swap(ctx context.Context, op change.Op, path, to, before string, after []byte) error {
	files := a.deps.Workspace
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
	if op == change.Modified || op == change.Created {
		written[0].After = string(workspace.HashOf(after))
		if write.After == nil {
			write.After = []byte{}
		}
	}
	if op == change.Moved {
		if write.To, err = files.Resolve(to); err != nil {
			return err
		}
		defer write.To.Close()
		if write.To.Path() != to {
			return errSince
		}
		written = append(written, snapshot.Write{Path: to, After: before})
	}
	defer a.deps.Snapshots.Writing(written).Done()
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
