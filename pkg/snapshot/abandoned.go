package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

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

// Recover finds what has changed since a state was saved for a command whose server died. inScope says whether it might
// change a path; nil: everything. others tells what others did of some paths since a time, or may have; nil where nobody
// is. It cannot tell the command's changes from those of programs that ran since.
func Recover(ctx context.Context, o Options, state *os.Root, content []byte, inScope func(path string) bool,
	others func(ctx context.Context, since time.Time, paths []string) (Foreign, error)) (*Difference, error) {
	root, began, err := load(state, content)
	if err != nil {
		return nil, err
	}
	k := Open(o)
	defer k.Close()
	k.root, k.walked, k.last = root, true, began
	w := k.window(began, inScope)
	w.begun = true
	if others != nil {
		w.others = func(ctx context.Context, paths []string) (Foreign, error) { return others(ctx, began, paths) }
	}
	k.open[w] = true
	return w.End(ctx)
}
