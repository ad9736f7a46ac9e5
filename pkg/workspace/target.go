package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Kind says what a path leads to.
type Kind int

// Kinds of paths. Symlink occurs in listings only: a Target's links have been resolved.
const (
	Missing Kind = iota
	Regular
	Directory
	Symlink
	Other // FIFO, device, socket
)

func (k Kind) String() string {
	return [...]string{"missing", "file", "directory", "symlink", "special file"}[k]
}

func kindOf(mode fs.FileMode) Kind {
	switch {
	case mode.IsRegular():
		return Regular
	case mode.IsDir():
		return Directory
	case mode&fs.ModeSymlink != 0:
		return Symlink
	}
	return Other
}

// Target is one path as a check saw it, bound to the open descriptor of its nearest existing parent. It must
// stay open until the change made through it is closed.
type Target struct {
	w          *Workspace
	path       string
	kind       Kind
	protection Protection
	gitParts   []GitPart

	parent *durable.Dir // nearest existing directory above; the workspace's own is shared
	rest   []string     // directories missing between parent and name
	name   string       // last component, empty for the workspace itself
	self   *durable.Dir // a directory target, opened
	lent   bool         // parent is somebody else's to close
}

// Path is workspace-relative, separated by '/', with links resolved; "." is the workspace.
func (t *Target) Path() string { return t.path }

// Kind is what stood there when the target was resolved.
func (t *Target) Kind() Kind { return t.kind }

// Protection is the strictest protection of any name on the way, those of links included: git follows a
// ".git" that is a link, so what it points to is git's too.
func (t *Target) Protection() Protection { return t.protection }

// Close releases the descriptors. It may be called twice.
func (t *Target) Close() error {
	if t == nil {
		return nil
	}
	var err error
	if t.parent != nil && t.parent != t.w.top && !t.lent {
		err = t.parent.Close()
	}
	if t.self != nil {
		err = errors.Join(err, t.self.Close())
	}
	t.parent, t.self = nil, nil
	return err
}

// Content is what a file held at one moment.
type Content struct {
	Bytes []byte
	Hash  Hash
	Info  fs.FileInfo
	// Links is how many names the file had, 0 where that cannot be known.
	Links uint64
}

// Read reads the whole file through the directory that was checked. It never blocks on a FIFO or device. Errors:
// ErrNotExist, ErrNotRegular, ErrTooLarge (limit is in bytes).
func (t *Target) Read(limit int64) (*Content, error) {
	f, err := t.Open()
	if err != nil {
		return nil, err
	}
	c, err := contentOf(f, limit)
	return c, pathError("read", t.path, err)
}

// Open opens the file for reading through the directory that was checked. It never blocks on a FIFO or device.
func (t *Target) Open() (*os.File, error) {
	var f *os.File
	var err error
	switch {
	case t.kind == Directory:
		err = fmt.Errorf("%w: it is a directory", ErrNotRegular)
	case len(t.rest) > 0:
		err = ErrNotExist
	default:
		f, err = openRegular(t.parent, t.name)
	}
	return f, pathError("read", t.path, err)
}

func readFile(dir *durable.Dir, name string, limit int64) (*Content, error) {
	f, err := openRegular(dir, name)
	if err != nil {
		return nil, err
	}
	return contentOf(f, limit)
}

// contentOf reads an open file, and closes it.
func contentOf(f *os.File, limit int64) (*Content, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, info.Size(), limit)
	}
	b, err := readUpTo(f, info.Size(), limit)
	if err != nil {
		return nil, err
	}
	return &Content{Bytes: b, Hash: HashOf(b), Info: info, Links: durable.StatInfo(info).Links}, nil
}

// readUpTo holds to the limit also if the file grows while it is read.
func readUpTo(f *os.File, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead) // so that the common case reads once and does not copy
	n, err := b.ReadFrom(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return b.Bytes(), nil
}

// openRegular looks before it opens, so that no FIFO or device is opened at all but in a race, and looks again
// at what it opened.
func openRegular(dir *durable.Dir, name string) (*os.File, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode.IsRegular() {
		return nil, fmt.Errorf("%w: it is a %s", ErrNotRegular, kindOf(seen.Mode))
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := durable.StatFile(f)
	if err == nil && !st.Mode.IsRegular() {
		err = fmt.Errorf("%w: it became a %s", ErrNotRegular, kindOf(st.Mode))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ways are where the directories of some targets are. Each is looked for once: what is asked for all of them between two
// moments may be asked at any moment between.
type ways map[string]durable.Stat

// bound reports, as an error, whether the path still leads to the directory that the target is bound to.
func (at ways) bound(t *Target) error {
	want, err := t.parent.Stat()
	if err != nil {
		return err
	}
	names := components(t.path)
	names = names[:len(names)-1-len(t.rest)]
	way := strings.Join(names, "/")
	have, known := at[way]
	if !known {
		if have, err = t.w.endOf(names); err != nil {
			return ErrChangedDir
		}
		at[way] = have
	}
	if !durable.Same(want, have) {
		return ErrChangedDir
	}
	return nil
}

// endOf describes the directory that some names lead to, through no link.
func (w *Workspace) endOf(names []string) (durable.Stat, error) {
	dir, err := w.descend(names, func(*durable.Dir) error { return nil })
	if err != nil {
		return durable.Stat{}, err
	}
	defer dir.Close()
	return dir.Stat()
}
