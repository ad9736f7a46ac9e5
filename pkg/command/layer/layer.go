// Package layer reads what a command did to a directory whose changes went into
// a layer (sandbox.Layer).
//
// It promises that every file, link and directory that the command made,
// changed, touched or removed is listed, each once, and that nothing of the
// command's own making is followed: links are not, and nothing but regular files
// is opened. Whoever reads must be alone: the command's processes are gone.
//
// It does not promise that what is listed differs: a file that was written back
// is listed too.
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

// MaxTouched bounds the list of Touched.
const MaxTouched = 200_000

// ErrTooMuch is returned, wrapped, where a command touched more than MaxTouched.
var ErrTooMuch = errors.New("more was changed than can be looked at")

// View is a directory with a layer over it; without Upper it is the directory
// as it is. Both are absolute paths.
type View struct{ Lower, Upper string }

// Touched is one path that a command touched. Of what is not there the mode is
// that of nothing: see Gone.
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

// Touched lists what the command touched, directories too, those above what is
// in them first.
func (v View) Touched() ([]Touched, error) {
	var all []Touched
	err := v.visit("", false, &all)
	return all, err
}

// visit lists a directory of the layer. opaque: nothing of the directory below
// it is left.
func (v View) visit(dir string, opaque bool, all *[]Touched) error {
	entries, err := durable.ReadDirectory(filepath.Join(v.Upper, filepath.FromSlash(dir)))
	if err != nil {
		return fmt.Errorf("read the layer: %w", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
		if err := v.entry(path.Join(dir, e.Name()), opaque, all); err != nil {
			return err
		}
	}
	if !opaque {
		return nil
	}
	return v.removed(dir, names, all)
}

func (v View) entry(name string, opaque bool, all *[]Touched) error {
	if len(*all) >= MaxTouched {
		return fmt.Errorf("%w (%d paths)", ErrTooMuch, MaxTouched)
	}
	at := filepath.Join(v.Upper, filepath.FromSlash(name))
	info, err := os.Lstat(at)
	if err != nil {
		return fmt.Errorf("look at the layer: %w", err)
	}
	t := Touched{Path: name, Before: node(filepath.Join(v.Lower, filepath.FromSlash(name)))}
	gone := isWhiteout(info)
	if !gone {
		t.After = Node{true, info.Mode(), at}
	}
	*all = append(*all, t)
	switch wasDir := t.Before.There && t.Before.Mode.IsDir(); {
	case !gone && info.IsDir():
		return v.visit(name, wasDir && (opaque || isOpaque(at)), all)
	case wasDir:
		return v.removed(name, nil, all)
	}
	return nil
}

// removed lists what was in a directory and is not, but for some names.
func (v View) removed(dir string, but map[string]bool, all *[]Touched) error {
	entries, err := durable.ReadDirectory(filepath.Join(v.Lower, filepath.FromSlash(dir)))
	if err != nil {
		return fmt.Errorf("look at what was removed: %w", err)
	}
	for _, e := range entries {
		if but[e.Name()] {
			continue
		}
		if len(*all) >= MaxTouched {
			return fmt.Errorf("%w (%d paths)", ErrTooMuch, MaxTouched)
		}
		name := path.Join(dir, e.Name())
		before := node(filepath.Join(v.Lower, filepath.FromSlash(name)))
		*all = append(*all, Touched{Path: name, Before: before})
		if before.There && before.Mode.IsDir() {
			if err := v.removed(name, nil, all); err != nil {
				return err
			}
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
	if v.Upper == "" {
		return node(filepath.Join(v.Lower, filepath.FromSlash(name)))
	}
	at, opaque := v.Upper, false
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case err != nil && opaque, err == nil && isWhiteout(info):
			return Node{}
		case err != nil:
			return node(filepath.Join(v.Lower, filepath.FromSlash(name)))
		case !info.IsDir():
			if filepath.Join(v.Upper, filepath.FromSlash(name)) != at {
				return Node{}
			}
			return Node{true, info.Mode(), at}
		}
		opaque = opaque || isOpaque(at)
	}
	info, err := os.Lstat(at)
	if err != nil {
		return Node{}
	}
	return Node{true, info.Mode(), at}
}

// Read is the content of a regular file of limit bytes at most.
func (v View) Read(name string, limit int64) ([]byte, error) {
	n := v.Find(name)
	if !n.There || !n.Mode.IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return durable.ReadRegular(n.At, limit)
}
