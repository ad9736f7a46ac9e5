package approval

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const spentDir = "spent"

// marks are the ids of what is used up or withdrawn. They lie outside of the workspace, because whoever can write there
// could put a used answer or a revoked grant back.
type marks struct {
	userDir string

	mu     sync.Mutex
	memory map[string]bool // where there is no user directory
}

// set marks an id, and tells whether this call was the first to do so. It is on disk when it returns.
func (m *marks) set(id string, until time.Time) (first bool, err error) {
	if m.userDir == "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.memory[id] {
			return false, nil
		}
		if m.memory == nil {
			m.memory = map[string]bool{}
		}
		m.memory[id] = true
		return true, nil
	}
	dir := filepath.Join(m.userDir, spentDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	file, err := os.OpenFile(filepath.Join(dir, id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !until.IsZero() {
		_, err = file.WriteString(until.UTC().Format(time.RFC3339) + "\n")
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return false, err
	}
	return true, syncDir(dir)
}

// has tells whether an id is marked; what cannot be told counts as marked.
func (m *marks) has(id string) bool {
	if m.userDir == "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.memory[id]
	}
	_, err := os.Lstat(filepath.Join(m.userDir, spentDir, id))
	return !errors.Is(err, fs.ErrNotExist)
}

// tidy removes marks whose time is over: what they are about has expired too.
func (m *marks) tidy(now time.Time) {
	if m.userDir == "" {
		return
	}
	dir := filepath.Join(m.userDir, spentDir)
	entries, _ := durable.ReadDirectory(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < Lifetime {
			continue
		}
		content, err := durable.ReadRegular(filepath.Join(dir, e.Name()), maxFile)
		if err != nil {
			continue
		}
		if until, err := time.Parse(time.RFC3339, strings.TrimSpace(string(content))); err == nil && now.After(until) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncDir makes a new name durable. A system that cannot flush a directory says so here, and keeps names by itself.
func syncDir(name string) error {
	dir, err := durable.OpenDirectory(name)
	if err != nil {
		return err
	}
	_ = dir.Sync()
	return dir.Close()
}
