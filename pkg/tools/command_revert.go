package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// revert undoes violations where the settings ask for it, and at the level full
// always takes new files away: they stand where the boundary had to be wider
// than the scope. What somebody else may have done is left alone, and so is
// what has changed since.
func (a *account) revert(ctx context.Context) {
	full := a.outcome.Command.Sandbox == string(sandbox.Full)
	var undone []string
	problems := 0
	for i := len(a.wrong) - 1; i >= 0; i-- { // what is in a directory goes before it
		c, v := a.wrong[i], &a.outcome.Violations[i]
		if !a.deps.RevertViolations && !(full && c.Op == snapshot.Created) {
			continue
		}
		err := errShared
		if !c.Shared {
			err = a.takeBack(ctx, c)
		}
		if err != nil {
			problems++
			a.note(detailKept, fmt.Sprintf("%s: %v", shown(c.Path), err))
			continue
		}
		v.Reverted = true
		undone = append(undone, v.Path)
	}
	a.outcome.Files = slices.DeleteFunc(a.outcome.Files, func(f hooks.FileOutcome) bool { return !f.InScope && slices.Contains(undone, f.Path) })
	if problems > 0 {
		a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("%d changes that the command should not have made could not be taken back; the record says why.", problems))
	}
}

// detailKept says of violations why they were not taken back.
const detailKept = "not_reverted"

var (
	errShared   = errors.New("another command ran at the same time and may have made it")
	errNoBefore = errors.New("its content before is not kept")
	errSince    = errors.New("it has changed since")
)

// takeBack undoes one change, if everything is as the command left it.
func (a *account) takeBack(ctx context.Context, c *snapshot.Change) error {
	if shown(c.Path) != c.Path || shown(c.From) != c.From {
		return errors.New("its name is not UTF-8")
	}
	if kindOf(c) == snapshot.Directory || c.Before != nil && c.Before.Kind == snapshot.Directory {
		return a.directoryBack(c)
	}
	if c.Before != nil && c.Before.Kind == snapshot.File && !c.Before.Known && (c.Op != snapshot.Moved && (c.After == nil || c.After.Hash != c.Before.Hash || c.Before.Hash == "")) {
		return errNoBefore
	}
	if c.Op == snapshot.Moved {
		return a.moveBack(ctx, c)
	}
	if c.Before != nil && c.After != nil && c.Before.Kind == snapshot.File && c.After.Kind == snapshot.File {
		return a.contentBack(ctx, c)
	}
	if err := a.remove(ctx, c.Path, c.After); err != nil {
		return err
	}
	return a.make(ctx, c.Path, c.Before)
}

func name(path string) string { return filepath.FromSlash(path) }

func (a *account) directoryBack(c *snapshot.Change) error {
	root := a.deps.Workspace.Root()
	switch {
	case c.Before == nil:
		return root.Remove(name(c.Path)) // only where nothing is in it
	case c.After == nil:
		return root.Mkdir(name(c.Path), c.Before.Mode.Perm())
	case c.After.Kind == snapshot.Directory && c.Before.Kind == snapshot.Directory:
		return root.Chmod(name(c.Path), c.Before.Mode)
	}
	return errors.New("a directory became something else")
}

// moveBack gives a file its old name; its content is what it was.
func (a *account) moveBack(ctx context.Context, c *snapshot.Change) error {
	if c.After.Kind == snapshot.File && c.After.Hash != "" {
		return a.swap(ctx, workspace.Move, c.Path, c.From, c.After.Hash, nil)
	}
	root := a.deps.Workspace.Root()
	if _, err := root.Lstat(name(c.From)); !errors.Is(err, fs.ErrNotExist) {
		return errSince
	}
	return root.Rename(name(c.Path), name(c.From))
}

func (a *account) contentBack(ctx context.Context, c *snapshot.Change) error {
	if c.Before.Hash != c.After.Hash {
		if c.After.Hash == "" {
			return errors.New("it is too large to be looked at")
		}
		if err := a.swap(ctx, workspace.Modify, c.Path, "", c.After.Hash, c.Before.Bytes); err != nil {
			return err
		}
	}
	if c.Before.Mode != c.After.Mode {
		return a.deps.Workspace.Root().Chmod(name(c.Path), c.Before.Mode)
	}
	return nil
}

// remove takes away what the command left at a path.
func (a *account) remove(ctx context.Context, path string, left *snapshot.Content) error {
	root := a.deps.Workspace.Root()
	switch {
	case left == nil:
		return nil
	case left.Kind == snapshot.File && left.Hash != "":
		return a.swap(ctx, workspace.Delete, path, "", left.Hash, nil)
	case left.Kind == snapshot.File:
		return errors.New("it is too large to be looked at")
	}
	info, err := root.Lstat(name(path))
	if err != nil {
		return err
	}
	if left.Kind == snapshot.Link {
		if text, err := root.Readlink(name(path)); err != nil || text != string(left.Bytes) {
			return errors.Join(errSince, err)
		}
	} else if info.Mode().Type() != left.Mode.Type() {
		return errSince
	}
	return root.Remove(name(path))
}

// make puts back what stood at a path, where nothing does.
func (a *account) make(ctx context.Context, path string, was *snapshot.Content) error {
	root := a.deps.Workspace.Root()
	switch {
	case was == nil:
		return nil
	case was.Kind == snapshot.Link:
		return root.Symlink(string(was.Bytes), name(path))
	case was.Kind == snapshot.Special:
		return errors.New("a FIFO, socket or device is not made again")
	}
	if err := a.swap(ctx, workspace.Create, path, "", "", was.Bytes); err != nil {
		return err
	}
	if info, err := root.Lstat(name(path)); err == nil && info.Mode() != was.Mode {
		return root.Chmod(name(path), was.Mode)
	}
	return nil
}

// swap makes one change if the file is as the command left it.
func (a *account) swap(ctx context.Context, op workspace.Op, path, to, before string, after []byte) error {
	files := a.deps.Workspace
	target, err := files.Resolve(path)
	if err != nil {
		return err
	}
	defer target.Close()
	if target.Path() != path {
		return errSince
	}
	change := workspace.Change{Op: op, Target: target, Before: workspace.Hash(before), After: after}
	written := []snapshot.Write{{Path: path, Before: before}}
	if op == workspace.Modify || op == workspace.Create {
		written[0].After = string(workspace.HashOf(after))
		if change.After == nil {
			change.After = []byte{}
		}
	}
	if op == workspace.Move {
		if change.To, err = files.Resolve(to); err != nil {
			return err
		}
		defer change.To.Close()
		if change.To.Path() != to {
			return errSince
		}
		written = append(written, snapshot.Write{Path: to, After: before})
	}
	defer a.deps.Snapshots.Writing(written).Done()
	prepared, err := files.Prepare(ctx, []workspace.Change{change})
	if err != nil {
		return err
	}
	settlement, err := prepared.Commit(ctx)
	if err != nil {
		return err
	}
	return settlement.Close()
}
