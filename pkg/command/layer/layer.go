// Package layer reads what a command did to a directory whose changes went into a layer (sandbox.Layer).
//
// It promises that every file, link and directory that the command made, changed, touched or removed is listed, each
// once, and that nothing of the command's own making is followed: links are not, and nothing but regular files is
// opened. Whoever reads must be alone: the command's processes are gone.
//
// It does not promise that what is listed differs: a file that was written back is listed too.
package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// maxTouched bounds the list of Touched.
const maxTouched = 200_000

// ErrTooMuch is returned, wrapped, where a command touched more than 200,000 paths.
var ErrTooMuch = errors.New("more was changed than can be looked at")

// View is a directory with a layer over it; without Upper it is the directory as it is. Both are absolute paths.
type View struct{ Lower, Upper string }

// Touched is one path that a command touched. Where nothing stands the node is the zero value.
type Touched struct {
	// Path is relative to the directory, with slashes.
	Path string
	// Before and After are what stands there.
	Before, After Node
}

// Node is what stands at a path; the zero value is nothing.
type Node struct {
	There bool
	Mode  fs.FileMode
	// At is where it can be read.
	At string
}

// Touched lists what the command touched, directories too, those above what is in them first.
func (v View) Touched() ([]Touched, error) {
	w := &walk{View: v}
	err := w.visit("", false)
	return w.all, err
}

type walk struct {
	View
	all []Touched
}

// visit lists a directory of the layer. opaque: nothing of the directory below it is left.
func (w *walk) visit(dir string, opaque bool) error {
	entries, err := durable.ReadDirectory(filepath.Join(w.Upper, dir))
	if err != nil {
		return fmt.Errorf("read the layer: %w", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
		if err := w.entry(path.Join(dir, e.Name()), opaque); err != nil {
			return err
		}
	}
	if !opaque {
		return nil
	}
	return w.removed(dir, names)
}

func (w *walk) entry(name string, opaque bool) error {
	at := filepath.Join(w.Upper, name)
	info, err := os.Lstat(at)
	if err != nil {
		return fmt.Errorf("look at the layer: %w", err)
	}
	after := Node{}
	if !isWhiteout(info) {
		after = Node{true, info.Mode(), at}
	}
	wasDir, err := w.add(name, after)
	switch {
	case err != nil:
		return err
	case after.There && info.IsDir():
		return w.visit(name, wasDir && (opaque || isOpaque(at)))
	case wasDir:
		return w.removed(name, nil)
	}
	return nil
}

// add lists one path, and reports whether a directory stood there.
func (w *walk) add(name string, after Node) (wasDir bool, err error) {
	if len(w.all) >= maxTouched {
		return false, fmt.Errorf("%w (%d paths)", ErrTooMuch, maxTouched)
	}
	before := node(filepath.Join(w.Lower, name))
	w.all = append(w.all, Touched{name, before, after})
	return before.There && before.Mode.IsDir(), nil
}

// removed lists what was in a directory and is not, but for some names.
func (w *walk) removed(dir string, but map[string]bool) error {
	entries, err := durable.ReadDirectory(filepath.Join(w.Lower, dir))
	if err != nil {
		return fmt.Errorf("look at what was removed: %w", err)
	}
	for _, e := range entries {
		if but[e.Name()] {
			continue
		}
		name := path.Join(dir, e.Name())
		wasDir, err := w.add(name, Node{})
		if err == nil && wasDir {
			err = w.removed(name, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func node(at string) Node {
	info, err := os.Lstat(at)
	if err != nil {
		return Node{}
	}
	return Node{true, info.Mode(), at}
}

// Find is what stands at a path.
func (v View) Find(name string) Node {
	below := filepath.Join(v.Lower, name)
	if v.Upper == "" {
		return node(below)
	}
	at, whole, opaque := v.Upper, filepath.Join(v.Upper, name), false
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case err != nil && opaque, err == nil && isWhiteout(info):
			return Node{}
		case err != nil:
			return node(below)
		case at == whole:
			return Node{true, info.Mode(), at}
		case !info.IsDir():
			return Node{}
		}
		opaque = opaque || isOpaque(at)
	}
	return Node{}
}

// Read is the content of a regular file of limit bytes at most.
func (v View) Read(name string, limit int64) ([]byte, error) {
	n := v.Find(name)
	if !n.There || !n.Mode.IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return durable.ReadRegular(n.At, limit)
}
