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
		if !strings.HasSuffix(e.Name(), savedSuffix) {
			continue
		}
		f, _, err := durable.OpenRegularIn(dir, e.Name(), os.O_RDONLY)
		if err != nil {
			continue
		}
		if free, err := durable.TryLock(f); err == nil && free && durable.Stands(dir, e.Name(), f) {
			a.files = append(a.files, f)
		} else {
			_ = f.Close()
		}
	}
	return a
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
