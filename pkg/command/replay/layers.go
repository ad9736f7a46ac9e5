package replay

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const lockSuffix = ".lock"

// Layers are the directories that take what a rehearsal does: .orchestration/state/layers/ID, with ID.lock beside it,
// which whoever uses them holds (flock). What nobody holds was left by a kill, and goes with the next.
type Layers struct {
	all  *durable.Dir
	name string
	lock *os.File
	at   string // absolute
}

// OpenLayers makes new ones.
func OpenLayers(w *workspace.Workspace) (*Layers, error) {
	all, err := w.OpenOwn("state", "layers")
	if err != nil {
		return nil, err
	}
	entries, _ := all.ReadDir()
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), lockSuffix); is {
			_ = ifFree(all, e.Name(), func() error { return removeLayers(all, name) }) // what stays goes another time
		}
	}
	name := rand.Text()
	lock, err := newLock(all, name+lockSuffix)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	l := &Layers{all, name, lock, filepath.Join(w.Dir(), ".orchestration", "state", "layers", name)}
	if err := all.Mkdir(l.name, 0o700); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Sub makes an empty directory, and gives its absolute path.
func (l *Layers) Sub(names ...string) (string, error) {
	dir, err := l.all.OpenDir(l.name)
	for _, name := range names {
		if err != nil {
			return "", err
		}
		_ = dir.Mkdir(name, 0o755) // which may be there; opening it tells
		var next *durable.Dir
		next, err = dir.OpenDir(name)
		dir.Close()
		dir = next
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{l.at}, names...)...), dir.Close()
}

// Over makes a layer over each of some directories.
func (l *Layers) Over(dirs []string) (all []sandbox.Layer, err error) {
	for i, dir := range dirs {
		layer := sandbox.Layer{Path: dir}
		if layer.Upper, err = l.Sub(strconv.Itoa(i), "upper"); err != nil {
			return nil, err
		}
		if layer.Work, err = l.Sub(strconv.Itoa(i), "work"); err != nil {
			return nil, err
		}
		all = append(all, layer)
	}
	return all, nil
}

// Close removes them.
func (l *Layers) Close() error {
	return errors.Join(removeLayers(l.all, l.name), l.lock.Close(), l.all.Close())
}

func removeLayers(all *durable.Dir, name string) error {
	if err := all.RemoveTree(name); err != nil {
		return err
	}
	return all.Remove(name + lockSuffix)
}
