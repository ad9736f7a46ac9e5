package ledger

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
	top, common := NewGit(dir).WorkTree()
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
	info, err := os.Lstat(filepath.Join(dir, home))
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
	in, err := inTree(root)
	return wanted && err == nil && !in
}

// inTree reports whether the tree has a ledger, which stays there. A link is none.
func inTree(root *os.Root) (bool, error) {
	for _, name := range []string{singleName, traceDir, archiveDir} {
		switch info, err := root.Lstat(path.Join(home, name)); {
		case err == nil && info.Mode()&fs.ModeSymlink == 0:
			return true, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return false, nil
}

// location is where a ledger stands: in the .orchestration of a directory, which is the workspace's or one beside the tree.
type location struct {
	root   *os.Root
	index  *index
	beside bool
}

// stands finds where the ledger of a workspace stands. What is done with it ends with done.
func stands(workspace *os.Root) (root *os.Root, done func(), err error) {
	root, err = openBeside(Beside(workspace.Name()))
	switch {
	case err != nil:
		return nil, nil, err
	case root == nil:
		return workspace, func() {}, nil
	}
	if err := takeFromTree(context.Background(), workspace, root); err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, func() { root.Close() }, nil
}

// openBeside gives neither a directory nor an error where no ledger stands beside the tree.
func openBeside(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, nil
	}
	for _, at := range []string{filepath.Dir(dir), dir, filepath.Join(dir, home)} {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil && !info.IsDir():
			err = errors.New("not a directory")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, at, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return root, nil
}

// MakeBeside has the ledger of a workspace stand beside the tree from now on. What is in the tree is taken in, and stays.
func MakeBeside(root *os.Root) error {
	dir := Beside(root.Name())
	if dir == "" {
		return fmt.Errorf("%w: %s is in no git repository", ErrUnavailable, root.Name())
	}
	return makeBeside(dir)
}

// makeBeside makes what openBeside looks for.
func makeBeside(dir string) error {
	common, err := os.OpenRoot(filepath.Dir(filepath.Dir(dir)))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer common.Close()
	at := path.Join(besideDir, filepath.Base(dir))
	for _, name := range []string{besideDir, at, path.Join(at, home)} {
		if err := makeDir(common, name, 0o755); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if err := flushDirNamed(common, realDisk(), path.Dir(name)); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// here is where the ledger stands now.
func (l *Ledger) here() (*location, error) {
	was := l.at.Load()
	if was.beside && was.inPlace() {
		return was, nil
	}
	l.findBeside.Do(func() { l.besideDir = Beside(l.workspace.Name()) })
	root, err := openBeside(l.besideDir)
	switch {
	case err != nil:
		return nil, err
	case root == nil && !was.beside:
		return was, nil
	}
	at := &location{root: l.workspace, index: newIndex(l.workspace)}
	if root != nil {
		if err := takeFromTree(context.Background(), l.workspace, root); err != nil {
			root.Close()
			return nil, err
		}
		at = &location{root: root, index: newIndex(root), beside: true}
		l.wasBeside.Store(true)
	}
	if !l.at.CompareAndSwap(was, at) {
		if at.beside {
			root.Close()
		}
		at = l.at.Load()
	}
	return at, nil // what was is in use perhaps, and closed when nobody has it
}

// inPlace reports whether the directory has its name still. What is written to one that somebody moved away nobody else finds.
func (at *location) inPlace() bool {
	held, err := at.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Lstat(at.root.Name())
	return err == nil && os.SameFile(held, now)
}

// settle is here for who is about to write: a first record decides where the ledger stands. A ledger that is in the tree
// stays there.
func (l *Ledger) settle() (*location, error) {
	at, err := l.found()
	if err != nil {
		return nil, err
	}
	if at.beside {
		return at, l.keepTree(at)
	}
	if !l.opts.Beside || l.besideDir == "" {
		return at, err
	}
	if _, err := homeInfo(l.workspace); err != nil {
		return nil, err
	}
	if in, err := inTree(l.workspace); in || err != nil {
		return at, err
	}
	if err := makeBeside(l.besideDir); err != nil {
		return nil, err
	}
	if at, err = l.here(); err == nil {
		err = l.keepTree(at)
	}
	return at, err
}

// found is here, and an error where the tree's link leads nowhere.
func (l *Ledger) found() (*location, error) {
	at, err := l.here()
	if err != nil || at.beside {
		return at, err
	}
	lost := l.leadsNowhere()
	if lost == nil {
		return at, nil
	}
	if at, err = l.here(); err == nil && !at.beside { // nor has another process made both since
		return nil, lost
	}
	return at, err
}

// leadsNowhere finds, where no ledger stands beside the tree, the link that one has left: it is gone, and not one that never
// was. Who had it open goes on in a new place, with a record that follows what is gone (see Loss).
func (l *Ledger) leadsNowhere() error {
	if l.wasBeside.Load() {
		return nil
	}
	target, err := l.workspace.Readlink(path.Join(home, singleName))
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: %s/%s is a link to %s, and no ledger stands there: bring it back, or orchestra-mcp sync brings what a remote has; "+
		"to begin anew, remove the link", ErrUnavailable, home, singleName, target)
}

// keepTree looks at what stands in the tree where the ledger is beside it.
func (l *Ledger) keepTree(at *location) error {
	if l.link == "" {
		l.link = linkTo(l.workspace, at.root)
	}
	switch info, err := l.workspace.Lstat(path.Join(home, singleName)); {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode()&fs.ModeSymlink != 0:
		linkInTree(l.workspace, l.link)
	case err == nil && info.Mode().IsRegular():
		return takeFromTree(context.Background(), l.workspace, at.root)
	}
	return nil
}
