package tools

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
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	// removedDir keeps what was taken away from beside the scope: an editor can
	// have made it while the command ran, which nobody can tell.
	removedDir = ".orchestration/cache/removed"
	// maxRemoved bounds how many commands it is kept of, maxRemovedBytes how much
	// of each.
	maxRemoved      = 16
	maxRemovedBytes = 64 << 20
	// detailRemoved says where it is.
	detailRemoved = "removed_kept_in"
)

// keeper keeps what one command made and may not have made.
type keeper struct {
	root  *os.Root
	dir   string // below the workspace; "" as long as nothing is kept
	bytes int64
	took  bool // something that nobody has looked into
}

// keep puts a second name on a file that is about to be removed, among what is
// kept. A file that has other names is not lost without it, and one for which
// there is no room is not kept; neither is an error.
func (k *keeper) keep(name string, info fs.FileInfo) error {
	if durable.StatInfo(info).Links > 1 {
		return nil
	}
	if k.bytes += info.Size(); k.bytes > maxRemovedBytes {
		return nil
	}
	to, err := k.place(name)
	if err != nil {
		return fmt.Errorf("it cannot be kept: %w", err)
	}
	if k.root.Link(name, to) == nil {
		return nil
	}
	if err := k.copy(name, to); err != nil {
		return fmt.Errorf("it cannot be kept: %w", err)
	}
	return nil
}

// forget takes a file out that was not removed after all.
func (k *keeper) forget(name string) {
	if k.dir != "" { // else nothing is kept, and the name is the file's own
		_ = k.root.Remove(path.Join(k.dir, name))
	}
}

// take moves a directory into what is kept, with whatever is in it.
func (k *keeper) take(name string) error {
	to, err := k.place(name)
	if err != nil {
		return err
	}
	k.took = true
	return k.root.Rename(name, to)
}

// place is where something is kept.
func (k *keeper) place(name string) (string, error) {
	if k.dir == "" {
		dir, err := k.open()
		if err != nil {
			return "", err
		}
		k.dir = dir
	}
	to := path.Join(k.dir, name)
	return to, k.root.MkdirAll(path.Dir(to), 0o700)
}

// open makes the directory of this command, and removes the oldest.
func (k *keeper) open() (string, error) {
	at := k.root
	for _, name := range []string{".orchestration", "cache", "removed"} {
		next, err := durable.OpenOwn(at, name, 0o700)
		if at != k.root {
			at.Close()
		}
		if err != nil {
			return "", err
		}
		at = next
	}
	defer at.Close()
	random := make([]byte, 4)
	rand.Read(random) // never fails, as documented
	name := time.Now().UTC().Format("20060102-150405.000") + "-" + hex.EncodeToString(random)
	if err := at.Mkdir(name, 0o700); err != nil {
		return "", err
	}
	if all, err := fs.ReadDir(at.FS(), "."); err == nil {
		var names []string
		for _, e := range all {
			names = append(names, e.Name())
		}
		slices.Sort(names)
		for _, old := range names[:max(0, len(names)-maxRemoved)] {
			_ = at.RemoveAll(old)
		}
	}
	return path.Join(removedDir, name), nil
}

// copy is for a file on another file system.
func (k *keeper) copy(name, to string) error {
	from, err := k.root.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := k.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.LimitReader(from, maxRemovedBytes))
	return errors.Join(err, file.Close())
}
