package locate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/rotation"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/union"
)

// takenName is where a ledger that stands beside the tree notes what it took from the tree.
const takenName = segment.Home + "/" + segment.StateDir + "/taken"

// TakeFromTree brings in what stands in the tree all the same: a branch from before the move has records there, and so has
// whatever an older program wrote. The files stay.
func TakeFromTree(ctx context.Context, tree, beside *os.Root) error {
	seen := treeStamp(tree)
	if seen == "" {
		return nil
	}
	if was, err := beside.ReadFile(takenName); err == nil && string(was) == seen {
		return nil
	}
	places, _, err := segment.List(ctx, tree)
	if err != nil {
		return err
	}
	u, err := union.Begin(ctx, beside)
	if err != nil {
		return err
	}
	defer u.Discard()
	for _, place := range places {
		if err := segment.WholeLines(ctx, tree, place, u.Add); err != nil {
			return fmt.Errorf("take %s/%s into the ledger beside the tree: %w", segment.Home, place.Name, err)
		}
	}
	if _, err := u.Publish(ctx); err != nil {
		return err
	}
	// What was taken twice changes nothing, so the note needs no flush.
	_ = beside.WriteFile(takenName, []byte(seen), 0o600)
	return nil
}

// treeStamp tells one state of the ledger's files in the tree from every other; "" where there are none.
func treeStamp(tree *os.Root) string {
	names, err := segment.AllNames(tree)
	if err != nil {
		return ""
	}
	sum, some := sha256.New(), false
	for _, name := range names {
		info, err := tree.Lstat(path.Join(segment.Home, name))
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		some = true
		fmt.Fprintf(sum, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	if !some {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)) + "\n"
}

// MoveBeside moves the ledger of a workspace from the tree to beside it, byte for byte: the directory that Beside names
// comes into being as a whole, while no record can be written. Where the ledger stands there already nothing is to do. The
// files in the tree stay until LeaveTree.
func MoveBeside(ctx context.Context, root *os.Root) (dir string, err error) {
	if _, err := segment.HomeInfo(root); err != nil {
		return "", err
	}
	if dir = Beside(root.Name()); dir == "" {
		return "", fmt.Errorf("move the ledger: %s is in no git repository", root.Name())
	}
	there, err := Open(dir)
	if err != nil {
		return "", err
	}
	if there != nil {
		defer there.Close()
		return dir, TakeFromTree(ctx, root, there)
	}
	release, err := rotation.LockRotation(ctx, root)
	if err != nil {
		return "", fmt.Errorf("move the ledger: %w", err)
	}
	defer release()
	unlock, err := segment.Lock(ctx, root, true, segment.MendLockWait)
	if err != nil {
		return "", fmt.Errorf("move the ledger: %w", err)
	}
	defer unlock()
	if err := copyBeside(ctx, root, dir); err != nil {
		return "", fmt.Errorf("move the ledger: %w", err)
	}
	return dir, nil
}

// LeaveTree takes away what stands in the tree of a ledger that stands beside it, once the latter has all of it, and leaves a
// link.
func LeaveTree(ctx context.Context, root *os.Root) error {
	beside, err := Open(Beside(root.Name()))
	if err != nil || beside == nil {
		return err
	}
	defer beside.Close()
	unlock, err := segment.Lock(ctx, root, true, segment.MendLockWait)
	if err != nil {
		return fmt.Errorf("take the ledger out of the tree: %w", err)
	}
	defer unlock()
	if err := TakeFromTree(ctx, root, beside); err != nil {
		return err
	}
	names, err := segment.AllNames(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := root.Lstat(path.Join(segment.Home, name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := root.Remove(path.Join(segment.Home, name)); err != nil {
			return fmt.Errorf("take the ledger out of the tree: %w", err)
		}
	}
	for _, dir := range []string{segment.TraceDir, segment.ArchiveDir} {
		_ = root.Remove(path.Join(segment.Home, dir)) // what else is in it stays
	}
	Link(root, LinkTarget(root, beside))
	return nil
}

// copyBeside makes the directory under another name first.
func copyBeside(ctx context.Context, root *os.Root, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), "unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	to, err := os.OpenRoot(unfinished)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := to.Chmod(".", 0o755); err != nil {
		return err
	}
	if err := to.Mkdir(segment.Home, 0o755); err != nil {
		return err
	}
	if err := copySegments(ctx, root, to); err != nil {
		return err
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return segment.FlushDir(parent, segment.RealDisk(), ".")
}

// copySegments brings the copies to disk.
func copySegments(ctx context.Context, from, to *os.Root) error {
	names, err := segment.AllNames(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		name = path.Join(segment.Home, name)
		err := copySegment(ctx, from, to, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	for _, dir := range []string{segment.TraceDir, segment.ArchiveDir, "", ".."} {
		if err := segment.FlushDir(to, segment.RealDisk(), path.Join(segment.Home, dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copySegment(ctx context.Context, from, to *os.Root, name string) error {
	source, info, err := durable.OpenRegularIn(from, name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := segment.MakeDir(to, path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.NewSectionReader(segment.ReaderAt{Ctx: ctx, ReaderAt: source}, 0, info.Size()))
	if err == nil {
		err = durable.FlushData(file)
	}
	return errors.Join(err, file.Close())
}

// LinkTarget is what the link in the tree says.
func LinkTarget(tree, beside *os.Root) string {
	target := filepath.Join(beside.Name(), segment.Home, segment.SingleName)
	if at, err := filepath.EvalSymlinks(filepath.Join(tree.Name(), segment.Home)); err == nil {
		if way, err := filepath.Rel(at, target); err == nil {
			return way
		}
	}
	return target
}

// Link has the ledger beside the tree be found where other tools look for it. Where no link can be made there is none.
func Link(tree *os.Root, target string) {
	name := path.Join(segment.Home, segment.SingleName)
	switch now, err := tree.Readlink(name); {
	case err == nil && now == target:
		return
	case err == nil:
		_ = tree.Remove(name)
	}
	_ = tree.Symlink(target, name)
}
