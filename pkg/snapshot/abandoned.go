package snapshot

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Abandoned are the states that processes which are gone had saved.
type Abandoned struct {
	dir   *os.Root
	files []*os.File // with their locks
}

// FindAbandoned looks for them below state. It is called before the journal is read: then every command that needs one
// of them is found there, and not only one whose process died meanwhile. Close gives up.
func FindAbandoned(state *os.Root) *Abandoned {
	dir, err := durable.OpenOwn(state, savedDir, 0)
	if err != nil {
		return nil
	}
	a := &Abandoned{dir: dir}
	entries, _ := durable.ReadDirectoryIn(dir, ".")
	for _, e := range entries {
		if f := takeDead(dir, e.Name()); f != nil {
			a.files = append(a.files, f)
		}
	}
	return a
}

// takeDead locks a state whose process is gone; nil if it is not.
func takeDead(dir *os.Root, name string) *os.File {
	if !strings.HasSuffix(name, savedSuffix) {
		return nil
	}
	f, _, err := durable.OpenRegularIn(dir, name, os.O_RDONLY)
	if err != nil {
		return nil
	}
	if free, err := durable.TryLock(f); err != nil || !free || !durable.Stands(dir, name, f) {
		_ = f.Close()
		return nil
	}
	return f
}

// Sweep removes them. It is called when nothing of those processes is left to settle.
func (a *Abandoned) Sweep() {
	if a == nil {
		return
	}
	for _, f := range a.files {
		_ = a.dir.Remove(filepath.Base(f.Name()))
	}
}

// Close gives the locks back.
func (a *Abandoned) Close() {
	if a == nil {
		return
	}
	for _, f := range a.files {
		_ = durable.Unlock(f)
		_ = f.Close()
	}
	_ = a.dir.Close()
}
