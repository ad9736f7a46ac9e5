package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// maxStaged bounds the files of one take-over.
const maxStaged = 20_000

// layerFound is what a command did to its layer that makes a difference.
type layerFound struct {
	files  []layerFile
	links  []layerLink
	shapes []workspace.Shape // of directories
	// conflicts are paths that somebody else has changed since the layer was made, or may be about to, with the reason.
	conflicts []layerConflict
	// touched are files that got another time of change and nothing else, and directories with the times that they have.
	touched []layerTime
	// left are FIFOs, sockets and devices, which are not taken over.
	left  []string
	bytes int64
	// built is what changed in places for builds, and packages counts what of it changed in those of package managers.
	built    []layer.Touched
	packages map[string]*observe.Packaged
}

type layerFile struct {
	op   change.Op
	path string
	from string // of a move
}

type layerTime struct {
	path string
	at   time.Time
}

// layerLink is a symbolic link with its texts; "" is none.
type layerLink struct{ path, from, to string }

func (l layerLink) op() change.Op { return change.Between(l.from != "", l.to != "") }

type layerConflict struct {
	path, why string
	// database: a database may be open there, which is so for the next run on a layer as well.
	database bool
}

func (f *layerFound) nothing() bool {
	return len(f.files)+len(f.links)+len(f.shapes)+len(f.conflicts) == 0
}

// untold are the directories that were made, or given other permissions, and in which nothing changed that is judged by its
// own path.
func (f *layerFound) untold() (dirs []string) {
	told := map[string]bool{}
	tell := func(name string) {
		for dir := path.Dir(name); !told[dir]; dir = path.Dir(dir) {
			told[dir] = true
		}
	}
	for _, f := range f.files {
		tell(f.path)
	}
	for _, l := range f.links {
		tell(l.path)
	}
	for _, s := range f.shapes {
		if !s.Gone && !told[s.Path] {
			dirs = append(dirs, s.Path)
		}
	}
	return dirs
}

// layerLook looks at a layer. since is when it was made, by the clock of the file systems.
type layerLook struct {
	found *layerFound
	root  string
	upper string
	since int64
	note  *stagedNote
	// copied are files where none stands in the workspace that the kernel has copied from there.
	copied map[string]bool
	bufs   [2][64 << 10]byte // for contents that are compared
}

func (f *Files) lookAtLayer(upper string, note *stagedNote) (*layerFound, error) {
	l := &layerLook{found: &layerFound{packages: map[string]*observe.Packaged{}}, root: f.Workspace.Dir(), upper: upper, since: note.Since, note: note, copied: map[string]bool{}}
	touched, err := layer.View{Lower: l.root, Upper: upper}.Touched()
	if err != nil {
		return nil, err
	}
	for i := range touched {
		if err := l.path(&touched[i]); err != nil {
			return nil, fmt.Errorf("look at %s: %w", touched[i].Path, err)
		}
	}
	if err := l.moves(touched); err != nil {
		return nil, err
	}
	if n := len(l.found.files) + len(l.found.links); n > maxStaged {
		return nil, fmt.Errorf("%w: the command changed %d files, and at most %d are taken over at once", layer.ErrTooMuch, n, maxStaged)
	}
	return l.found, nil
}

// path judges one path that the command touched: what stood there when the layer was made, and what stands there now.
func (l *layerLook) path(t *layer.Touched) error {
	before, after := t.Before, t.After
	at := filepath.Join(l.root, t.Path)
	info, err := os.Lstat(at)
	if after.There && after.Mode.IsDir() && (err != nil || !l.late(info)) {
		if err := l.touched(t.Path, layer.Node{}, after); err != nil { // also an old one, which taking over would change
			return err
		}
	}
	if l.built(t) {
		return nil
	}
	switch {
	case err == nil && l.late(info):
		// Somebody changed it since, or made it. What others have made below a directory that the command removed stays.
		if !after.There && durable.BornAt(at) >= l.since {
			return nil
		}
		if !before.Mode.IsDir() { // whose times change with its entries
			l.conflict(t.Path, "it was changed since the command began")
			return nil
		}
	case errors.Is(err, fs.ErrNotExist) && isCopy(after):
		l.copied[t.Path] = true
	}
	if !before.There && !after.There {
		return nil
	}
	return l.change(t.Path, before, after)
}

// late reports whether something can have been changed since the layer was made. A time before it is proof of the contrary.
func (l *layerLook) late(info fs.FileInfo) bool { return durable.ChangedAt(info) >= l.since }

func (l *layerLook) conflict(path, why string) {
	l.found.conflicts = append(l.found.conflicts, layerConflict{path: path, why: why})
}

func (l *layerLook) change(name string, before, after layer.Node) error {
	switch kind := after.Mode.Type(); {
	case after.There && kind == fs.ModeDir:
		return l.directory(name, before, after)
	case after.There && kind != 0 && kind != fs.ModeSymlink:
		l.found.left = append(l.found.left, name)
		return nil
	}
	if before.Mode.IsDir() {
		l.found.shapes = append(l.found.shapes, workspace.Shape{Path: name, Kind: workspace.Directory, Gone: true, Needed: after.There})
		before = layer.Node{}
	}
	return l.entry(name, before, after)
}

// directory is one that stands there afterwards.
func (l *layerLook) directory(name string, before, after layer.Node) error {
	mode := after.Mode &^ fs.ModeType
	if before.Mode.IsDir() {
		if before.Mode != after.Mode {
			l.found.shapes = append(l.found.shapes, workspace.Shape{Path: name, Kind: workspace.Directory, Mode: &mode})
		}
		return nil
	}
	if err := l.entry(name, before, layer.Node{}); err != nil {
		return err
	}
	l.found.shapes = append(l.found.shapes, workspace.Shape{Path: name, Kind: workspace.Directory, Mode: &mode})
	return nil
}

// entry is a file or link that comes, goes or changes.
func (l *layerLook) entry(name string, before, after layer.Node) error {
	link := layerLink{path: name}
	for _, end := range []struct {
		node layer.Node
		text *string
	}{{before, &link.from}, {after, &link.to}} {
		if end.node.There && end.node.Mode.Type() == fs.ModeSymlink {
			text, err := os.Readlink(end.node.At)
			if err != nil {
				return err
			}
			*end.text = text
		}
	}
	if link.from != link.to {
		l.found.links = append(l.found.links, link)
	}
	was, is := before.There && before.Mode.IsRegular(), after.There && after.Mode.IsRegular()
	if is {
		info, err := os.Lstat(after.At)
		if err != nil {
			return err
		}
		l.found.bytes += info.Size()
	}
	switch {
	case !was && !is:
		return nil
	case was && is && before.Mode == after.Mode:
		same, err := l.sameContent(before.At, after.At)
		if err == nil && same { // it was touched, or written back
			err = l.touched(name, before, after)
		}
		if err != nil || same {
			return err
		}
	}
	if was {
		for _, suffix := range []string{"-wal", "-journal"} {
			if _, err := os.Lstat(before.At + suffix); err == nil {
				why := fmt.Sprintf("%s stands beside it, so a database may be open", path.Base(name)+suffix)
				l.found.conflicts = append(l.found.conflicts, layerConflict{name, why, true})
				return nil
			}
		}
	}
	l.found.files = append(l.found.files, layerFile{op: change.Between(was, is), path: name})
	return nil
}

// touched notes a time of change that is new, by which others tell what is to be built (make) or copied.
func (l *layerLook) touched(name string, before, after layer.Node) error {
	is, err := os.Lstat(after.At)
	if err != nil {
		return err
	}
	if before.There {
		was, err := os.Lstat(before.At)
		if err != nil || is.ModTime().Equal(was.ModTime()) {
			return err
		}
	}
	l.found.touched = append(l.found.touched, layerTime{name, is.ModTime()})
	return nil
}

// sameContent compares two regular files.
func (l *layerLook) sameContent(a, b string) (bool, error) {
	x, xInfo, err := durable.OpenRegular(a)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, yInfo, err := durable.OpenRegular(b)
	if err != nil {
		return false, err
	}
	defer y.Close()
	if xInfo.Size() != yInfo.Size() {
		return false, nil
	}
	for {
		n, errX := io.ReadFull(x, l.bufs[0][:])
		m, errY := io.ReadFull(y, l.bufs[1][:])
		if n != m || !bytes.Equal(l.bufs[0][:n], l.bufs[1][:m]) {
			return false, nil
		}
		switch {
		case errX == nil && errY == nil:
		case isEnd(errX) && isEnd(errY):
			return true, nil
		default:
			return false, errors.Join(errX, errY)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
