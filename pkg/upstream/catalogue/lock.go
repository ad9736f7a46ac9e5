package catalogue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// held is the directory of a pin file under its lock. The lock is on the directory: a file for it could be deleted.
type held struct {
	dir  *os.Root
	lock *os.File
	base string
}

// patience is how long a process waits for the lock, which others hold for one file operation.
const patience = 10 * time.Second

// hold locks the directory, which is made where it is missing. Where the system has no locks, the rename alone keeps the file whole.
func (b *Book) hold() (*held, error) {
	where := filepath.Dir(b.file)
	if err := os.MkdirAll(where, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(where)
	if err != nil {
		return nil, err
	}
	h := &held{dir: dir, base: filepath.Base(b.file)}
	if h.lock, err = durable.OpenDirectoryIn(dir, "."); err != nil {
		h.close()
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("%w: %s", ErrBusy, where))
	defer cancel()
	if err := durable.Lock(ctx, h.lock); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *held) close() {
	if h.lock != nil {
		_ = durable.Unlock(h.lock)
		h.lock.Close()
	}
	h.dir.Close()
}

// write puts a content in the file's place: whoever is killed here leaves the old one or the new one.
func (h *held) write(content []byte) error {
	h.tidy()
	temp := temporary(h.base) + rand.Text() + ".tmp"
	if err := durable.WriteNew(h.dir, temp, content, time.Time{}, true); err != nil {
		return err
	}
	if err := h.dir.Rename(temp, h.base); err != nil {
		_ = h.dir.Remove(temp)
		return err
	}
	return durable.FlushDir(h.dir)
}

func (h *held) remove() error {
	h.tidy()
	if err := h.dir.Remove(h.base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.FlushDir(h.dir)
}
