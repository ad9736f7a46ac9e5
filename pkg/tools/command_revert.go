package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// revert undoes violations where the settings ask for it, and at the level full
// always takes new files away: they stand where the boundary had to be wider
// than the scope. What somebody else may have done is left alone, and so is
// what has changed since. What is new goes first, then directories come back,
// then what stood in them.
func (a *account) revert(ctx context.Context) {
	full := a.outcome.Command.Sandbox == string(sandbox.Full)
	if !a.deps.RevertViolations && !full || len(a.wrong) == 0 {
		return
	}
	a.kept.root = a.deps.Workspace.Root()
	created := func(c *snapshot.Change) bool { return c.Op == snapshot.Created }
	a.openDirectories()
	a.revertFiles(ctx, created)
	a.revertDirectories(snapshot.Created)
	if a.deps.RevertViolations {
		a.revertDirectories(snapshot.Deleted)
		a.revertFiles(ctx, func(c *snapshot.Change) bool { return !created(c) })
		a.revertDirectories(snapshot.Modified)
	}
	var undone []string
	for _, v := range a.outcome.Violations {
		if v.Reverted {
			undone = append(undone, v.Path)
		}
	}
	a.outcome.Files = slices.DeleteFunc(a.outcome.Files, func(f hooks.FileOutcome) bool { return !f.InScope && slices.Contains(undone, f.Path) })
	if a.kept.took {
		if err := a.dropTaken(); err != nil {
			a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("Whether secrets are among what was taken away could not be found out (%v): look into %s.", err, a.kept.dir))
		}
	}
	if a.kept.dir != "" {
		a.Detail[detailRemoved] = a.kept.dir
		a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("What was taken away is kept in %s for a while, in case somebody else made it.", a.kept.dir))
	}
	if _, some := a.Detail[detailKept]; some {
		a.outcome.Warnings = append(a.outcome.Warnings, "Not all changes that the command should not have made could be taken back; the record says why.")
	}
}

func (a *account) revertFiles(ctx context.Context, which func(c *snapshot.Change) bool) {
	for i, c := range a.wrong {
		if kindOf(c) != snapshot.Directory && which(c) {
			a.reverted(i, func() error { return a.takeBack(ctx, c) })
		}
	}
}

// reverted takes one violation back, and says so or why not.
func (a *account) reverted(i int, back func() error) {
	err := errShared
	if !a.wrong[i].Shared {
		err = back()
	}
	if err != nil {
		a.Note(detailKept, fmt.Sprintf("%s: %v", a.outcome.Violations[i].Path, err))
		return
	}
	a.outcome.Violations[i].Reverted = true
}

// revertDirectories undoes what became of directories out of scope, also of
// those that are no violation of their own because a file in them is: those
// that were made, the deepest first, others the other way about.
func (a *account) revertDirectories(op snapshot.Op) {
	dirs := slices.Clone(a.dirs)
	if op == snapshot.Created {
		slices.Reverse(dirs)
	}
	for _, c := range dirs {
		if c.Op != op || c.Shared || a.Objection(c.Path) == "" || a.Objection(c.Path+"/x") == "" {
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
)

// takeBack undoes one change, if everything is as the command left it.
func (a *account) takeBack(ctx context.Context, c *snapshot.Change) error {
	if c.Op != snapshot.Created && (!plain(c.Path) || !plain(c.From)) {
		return errors.New("its name has control characters or is not UTF-8")
	}
	if c.Secret && c.Before == nil {
		return errSecret
	}
	if c.Before != nil && (c.Before.Kind == snapshot.File || c.Before.Secret) && !c.Before.Known && (c.Op != snapshot.Moved && (c.After == nil || c.After.Hash != c.Before.Hash || c.Before.Hash == "")) {
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

// openDirectories lets what the command made and closed be taken away.
func (a *account) openDirectories() {
	for _, c := range a.dirs {
		if c.Op == snapshot.Created && !c.Shared && c.After.Mode.Perm()&0o700 != 0o700 && a.Objection(c.Path) != "" {
			_ = a.deps.Workspace.Root().Chmod(name(c.Path), 0o700)
		}
	}
}

func (a *account) directoryBack(c *snapshot.Change) error {
	root := a.deps.Workspace.Root()
	switch {
	case c.Before == nil:
		err := root.Remove(name(c.Path)) // only where nothing is in it
		if err != nil && c.After.Mode.Perm()&0o500 != 0o500 && !c.Secret {
			return a.kept.take(name(c.Path)) // nobody has seen what is in it
		}
		return err
	case c.After == nil:
		if err := root.Mkdir(name(c.Path), c.Before.Mode.Perm()); err != nil {
			return err
		}
	}
	return root.Chmod(name(c.Path), c.Before.Mode)
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
	case left.Kind == snapshot.File && left.Hash == "": // too large to be looked at, or closed
		return a.kept.take(name(path))
	case left.Kind == snapshot.File:
		return a.removeFile(ctx, path, left.Hash, left.Secret)
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

// removeFile takes a file away that is as the command left it, and keeps it
// elsewhere for a while; but not the copy of a secret, which is where it was.
func (a *account) removeFile(ctx context.Context, path, hash string, secret bool) error {
	info, err := a.deps.Workspace.Root().Lstat(name(path))
	if err != nil {
		return err
	}
	if !secret {
		if err := a.kept.keep(name(path), info); err != nil {
			return err
		}
	}
	if plain(path) {
		err = a.swap(ctx, workspace.Delete, path, "", hash, nil)
	} else {
		err = a.removeAwkward(path, hash)
	}
	if err != nil && !secret {
		a.kept.forget(name(path))
	}
	return err
}

// plain reports whether a name is one that file tools take.
func plain(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl)
}

// removeAwkward removes a file whose name no file tool takes, so that none can
// write it meanwhile.
func (a *account) removeAwkward(path, hash string) error {
	root := a.deps.Workspace.Root()
	info, err := root.Lstat(name(path))
	if err != nil {
		return err
	}
	file, err := root.Open(name(path))
	if err != nil {
		return err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || !os.SameFile(info, opened) {
		return errors.Join(errSince, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if "sha256:"+hex.EncodeToString(sum.Sum(nil)) != hash {
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
