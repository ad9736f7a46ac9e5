package staging

import (
	"crypto/rand"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	lockSuffix = ".lock"
	noteSuffix = ".json"
)

// Layers are directories that take what a command does. They are held until Close, Keep or Leave.
type Layers struct {
	all  *durable.Dir
	name string
	lock *os.File
	at   string // absolute
}

func openAll(w *workspace.Workspace) (*durable.Dir, error) { return w.OpenOwn("state", "layers") }

// Open makes new ones.
func Open(w *workspace.Workspace) (*Layers, error) {
	all, err := openAll(w)
	if err != nil {
		return nil, err
	}
	sweep(all)
	name := "stg_" + rand.Text()
	lock, err := all.Claim(name + lockSuffix)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	l := &Layers{all, name, lock, at(w, name)}
	if err := all.Mkdir(l.name, 0o700); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func at(w *workspace.Workspace, name string) string {
	return filepath.Join(w.Dir(), ".orchestration", "state", "layers", name)
}

// sweep removes what was left, and what was kept for long enough. What cannot be removed goes another time.
func sweep(all *durable.Dir) {
	entries, _ := all.ReadDir()
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), lockSuffix)
		if !is {
			continue
		}
		_ = all.IfFree(e.Name(), func() error {
			if n, err := readNote(all, name); err == nil && !n.expired() {
				return nil
			}
			return remove(all, name)
		})
	}
}

// ID names them.
func (l *Layers) ID() string { return l.name }

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

// OpenUpper opens a directory in what the i-th of them has, by its path there, with slashes; "." is all that it has.
func (l *Layers) OpenUpper(i int, at string) (*durable.Dir, error) {
	return l.all.OpenDirAt(path.Join(l.name, strconv.Itoa(i), "upper", at))
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

// Upper is the absolute path of what the i-th of them has.
func (l *Layers) Upper(i int) string { return filepath.Join(l.at, strconv.Itoa(i), "upper") }

// Close removes them.
func (l *Layers) Close() error { return errors.Join(remove(l.all, l.name), l.Leave()) }

// Leave gives them back as they are; without Keep they go with the next.
func (l *Layers) Leave() error {
	_ = durable.Unlock(l.lock) // explicitly, since a child between fork and exec may have a copy of the descriptor
	return errors.Join(l.lock.Close(), l.all.Close())
}

func remove(all *durable.Dir, name string) error {
	_ = all.Remove(name + noteSuffix) // first: what has none is nobody's
	if err := all.RemoveTree(name); err != nil {
		return err
	}
	return all.Remove(name + lockSuffix)
}
