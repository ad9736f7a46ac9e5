package observe

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// removedDir keeps what was taken away from beside the scope: an editor can
	// have made it while the command ran, which nobody can tell.
	removedDir = ".orchestration/cache/removed"
	// maxRemoved bounds how many commands it is kept of, maxRemovedBytes how much of each.
	maxRemoved      = 16
	maxRemovedBytes = 64 << 20
	// maxMirrored bounds the path under which something is kept as it was, in bytes; what has a longer one gets a name at random.
	maxMirrored = 1024
	// detailRemoved says where it is.
	detailRemoved = "removed_kept_in"
)

// keeper takes away what one command made and may not have made: to where nobody but the server makes names, so that
// what came there can be looked at before anything of it is given up.
type keeper struct {
	files *workspace.Workspace
	dir   string // below the workspace; "" as long as nothing was taken
	bytes int64
	some  bool // is kept
	blind bool // something was taken that nobody has looked into
}

// take takes away what a grip holds. A file that has other names is not lost without it, and one for which there is no
// room is not kept, nor what is neither file nor directory, nor the copy of a secret, which is where it was.
func (k *keeper) take(at string, g *workspace.Grip, left *snapshot.Content) error {
	dir, name, err := k.place(at)
	if err != nil {
		return fmt.Errorf("there is nowhere to take it: %w", err)
	}
	defer dir.Close()
	keeps := !left.Secret && k.keeps(g)
	err = g.MoveTo(dir, name)
	switch {
	case errors.Is(err, durable.ErrCrossDevice):
		return k.across(g, dir, name, keeps)
	case err != nil:
		return err
	case !keeps:
		return dir.RemoveTree(name)
	}
	k.some, k.blind = true, k.blind || left.Kind != snapshot.File || left.Hash == ""
	return nil
}

// keeps reports whether what was taken away stays for a while.
func (k *keeper) keeps(g *workspace.Grip) bool {
	if g.Mode().IsDir() {
		return true
	}
	if !g.Mode().IsRegular() || g.Links() > 1 {
		return false
	}
	k.bytes += g.Size()
	return k.bytes <= maxRemovedBytes
}

// across is for a file on another file system.
func (k *keeper) across(g *workspace.Grip, dir *durable.Dir, name string, keeps bool) error {
	if g.Mode().IsDir() {
		return durable.ErrCrossDevice
	}
	remove, err := g.Aside()
	if err != nil {
		return err
	}
	if keeps {
		if err := copyTo(g, dir, name); err != nil {
			return fmt.Errorf("it cannot be kept: %w", err)
		}
		k.some = true
	}
	return remove()
}

func copyTo(g *workspace.Grip, dir *durable.Dir, name string) error {
	from, err := g.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := dir.Create(name, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.LimitReader(from, maxRemovedBytes))
	return errors.Join(err, file.Close())
}

// place is a name for something, below the directories that it was in where they can be had.
func (k *keeper) place(at string) (dir *durable.Dir, name string, err error) {
	if k.dir == "" {
		if err := k.open(); err != nil {
			return nil, "", err
		}
	}
	if len(at) <= maxMirrored {
		if dir, err = k.files.OpenOwn(own(path.Join(k.dir, path.Dir(at)))...); err == nil {
			if name = path.Base(at); taken(dir, name) {
				name = rand.Text()
			}
			return dir, name, nil
		}
	}
	dir, err = k.files.OpenOwn(own(k.dir)...)
	return dir, rand.Text(), err
}

func taken(dir *durable.Dir, name string) bool {
	_, err := dir.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// own are the names of a path below .orchestration.
func own(dir string) []string { return strings.Split(dir, "/")[1:] }

// open makes the directory of this command, and removes the oldest.
func (k *keeper) open() error {
	all, err := k.files.OpenOwn(own(removedDir)...)
	if err != nil {
		return err
	}
	defer all.Close()
	random := make([]byte, 4)
	rand.Read(random) // never fails, as documented
	name := time.Now().UTC().Format("20060102-150405.000") + "-" + hex.EncodeToString(random)
	if err := all.Mkdir(name, 0o700); err != nil {
		return err
	}
	k.dir = path.Join(removedDir, name)
	entries, err := all.ReadDir()
	if err != nil {
		return nil // it is tidied up with the next
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	for _, old := range names[:max(0, len(names)-maxRemoved)] {
		_ = all.RemoveTree(old)
	}
	return nil
}

// sift removes what is secret of what was taken, see DropSecrets.
func (k *keeper) sift(secret func(path string, file *os.File) bool) error {
	dir, err := k.files.OpenOwn(own(k.dir)...)
	if err != nil {
		return err
	}
	defer dir.Close()
	return sift(dir, "", secret)
}

// close ends the taking. A directory in which nothing is kept goes.
func (k *keeper) close() {
	if k.dir == "" || k.some {
		return
	}
	if all, err := k.files.OpenOwn(own(removedDir)...); err == nil {
		_ = all.RemoveTree(path.Base(k.dir))
		all.Close()
	}
}

// DropSecrets removes from what was taken away from commands, and is kept for a while, what is secret now: by the path
// where it stood, of which a directory's ends in a slash and comes without a file, or by its content.
func DropSecrets(root *os.Root, secret func(path string, file *os.File) bool) error {
	all, err := durable.OpenRoot(root)
	if err != nil {
		return err
	}
	for _, name := range strings.Split(removedDir, "/") {
		next, err := all.OpenDir(name)
		all.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		all = next
	}
	defer all.Close()
	commands, err := all.ReadDir()
	if err != nil {
		return err
	}
	for _, c := range commands {
		if !c.IsDir() || siftInto(all, c.Name(), "", secret) == nil {
			continue
		}
		if err := all.RemoveTree(c.Name()); err != nil {
			return err
		}
	}
	return nil
}

// sift removes entries of a tree, which it opens to its owner, what cannot be looked into, and what is so deep that no
// rule speaks of it. Links, FIFOs and the like have no content.
func sift(dir *durable.Dir, at string, secret func(path string, file *os.File) bool) error {
	entries, err := dir.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		gone := workspace.TooDeep(name)
		switch {
		case gone:
		case e.IsDir():
			gone = secret(name+"/", nil) || siftInto(dir, e.Name(), name, secret) != nil
		case e.Type().IsRegular():
			gone = isSecret(dir, e.Name(), name, secret)
		}
		if !gone {
			continue
		}
		if err := dir.RemoveTree(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func siftInto(dir *durable.Dir, name, at string, secret func(path string, file *os.File) bool) error {
	if err := dir.Allow(name, 0o700); err != nil {
		return err
	}
	inner, err := dir.OpenDir(name)
	if err != nil {
		return err
	}
	defer inner.Close()
	return sift(inner, at, secret)
}

func isSecret(dir *durable.Dir, name, at string, secret func(path string, file *os.File) bool) bool {
	if dir.Allow(name, 0o400) != nil {
		return true
	}
	file, err := dir.Open(name)
	if err != nil {
		return true
	}
	defer file.Close()
	info, err := file.Stat()
	return err != nil || !info.Mode().IsRegular() || secret(at, file)
}
