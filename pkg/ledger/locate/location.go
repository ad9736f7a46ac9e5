// Package locate says where the ledger of a workspace stands: in its tree, or beside it in the git directory that all work
// trees of the repository share.
//
// # Promise
//
// Every program finds the same place for one workspace. What stands in the tree all the same, as on a branch from before the
// move, is taken in before anything is read or written; no line is lost by a move, also if it is cut short.
//
// # Non-promise
//
// It does not choose: a ledger that is in the tree stays there until [MoveBeside], and a new one goes beside the tree only if
// who writes first wants it there.
package locate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// besideDir is the directory in git's own that has the live ledgers of a repository's workspaces.
const besideDir = "orchestra"

// Beside names the directory whose .orchestration has the ledger of the workspace at dir where that stands beside the tree:
// in the git directory that all work trees of the repository share, a directory for each workspace, by the SHA-256 of its
// path in the repository (its first 16 hex digits). No branch tracks it, and git neither cleans nor stashes it. It is ""
// outside of a repository. The directory need not exist.
func Beside(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	top, common := gitdir.New(dir).WorkTree()
	if common == "" {
		return ""
	}
	way, err := filepath.Rel(top, dir)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(filepath.ToSlash(way)))
	return filepath.Join(common, besideDir, hex.EncodeToString(sum[:8]))
}

// IsBeside reports whether the ledger of a workspace stands beside the tree.
func IsBeside(root *os.Root) bool {
	dir := Beside(root.Name())
	if dir == "" {
		return false
	}
	info, err := os.Lstat(filepath.Join(dir, segment.Home))
	return err == nil && info.IsDir()
}

// WillBeBeside reports whether the ledger of a workspace stands beside the tree, or will with its first record where that is
// wanted.
func WillBeBeside(root *os.Root, wanted bool) bool {
	switch {
	case Beside(root.Name()) == "":
		return false
	case IsBeside(root):
		return true
	}
	in, err := InTree(root)
	return wanted && err == nil && !in
}

// InTree reports whether the tree has a ledger, which stays there. A link is none.
func InTree(root *os.Root) (bool, error) {
	for _, name := range []string{segment.SingleName, segment.TraceDir, segment.ArchiveDir} {
		switch info, err := root.Lstat(path.Join(segment.Home, name)); {
		case err == nil && info.Mode()&fs.ModeSymlink == 0:
			return true, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return false, segment.Unavailable(err)
		}
	}
	return false, nil
}

// Stands finds where the ledger of a workspace stands. What is done with it ends with done.
func Stands(workspace *os.Root) (root *os.Root, done func(), err error) {
	root, err = Open(Beside(workspace.Name()))
	switch {
	case err != nil:
		return nil, nil, err
	case root == nil:
		return workspace, func() {}, nil
	}
	if err := TakeFromTree(context.Background(), workspace, root); err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, func() { root.Close() }, nil
}

// Open gives neither a directory nor an error where no ledger stands beside the tree.
func Open(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, nil
	}
	for _, at := range []string{filepath.Dir(dir), dir, filepath.Join(dir, segment.Home)} {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil && !info.IsDir():
			err = errors.New("not a directory")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", segment.ErrUnavailable, at, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, segment.Unavailable(err)
	}
	return root, nil
}

// MakeBeside has the ledger of a workspace stand beside the tree from now on. What is in the tree is taken in, and stays.
func MakeBeside(root *os.Root) error {
	dir := Beside(root.Name())
	if dir == "" {
		return fmt.Errorf("%w: %s is in no git repository", segment.ErrUnavailable, root.Name())
	}
	return Make(dir)
}

// Make makes what Open looks for.
func Make(dir string) error {
	common, err := os.OpenRoot(filepath.Dir(filepath.Dir(dir)))
	if err != nil {
		return segment.Unavailable(err)
	}
	defer common.Close()
	at := path.Join(besideDir, filepath.Base(dir))
	for _, name := range []string{besideDir, at, path.Join(at, segment.Home)} {
		err := segment.MakeDir(common, name, 0o755)
		if err == nil {
			err = segment.FlushDir(common, segment.RealDisk(), path.Dir(name))
		}
		if err != nil {
			return segment.Unavailable(err)
		}
	}
	return nil
}

// GitAttributes are the lines that .gitattributes at the top of the workspace needs: a merge keeps the lines of both sides, and
// line endings are never converted, because a record's identity is the hash of its bytes and a seal is signed byte for byte.
const GitAttributes = "/.orchestration/agent_trace.jsonl merge=union -text\n" +
	"/.orchestration/trace/*.jsonl merge=union -text\n" +
	"/.orchestration/archive/** -diff -merge -text\n" +
	"/.orchestration/seals/** -text\n"

// Heads are the lines that the next record would follow, sorted: those that no line of the files that are appended to
// follows. It reads no archive.
func Heads(ctx context.Context, root *os.Root) ([]record.Hash, error) {
	root, leave, err := Stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	places, _, err := segment.List(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("find the heads of the ledger: %w", err)
	}
	var heads []record.Hash
	for _, place := range places {
		if place.Archived() {
			continue
		}
		file, size, err := place.Open(root)
		if err != nil {
			return nil, fmt.Errorf("find the heads of the ledger: %w", err)
		}
		found, err := segment.FindHeads(file, size, func(segment.Line, record.Hash, record.LineKind) {})
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("find the heads of the ledger: %w", err)
		}
		heads = append(heads, found...)
	}
	slices.SortFunc(heads, record.CompareHash)
	return slices.Compact(heads), nil
}

// EachLine gives every line that is not blank, segment by segment, in the order in which they stand. Lines that stand
// there twice come twice. It costs a hash for each, and no parsing.
func EachLine(ctx context.Context, root *os.Root, visit func(segment.RawLine) error) ([]segment.Problem, error) {
	root, leave, err := Stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	return segment.EachLine(ctx, root, visit)
}
