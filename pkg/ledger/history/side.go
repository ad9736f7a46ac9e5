package history

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

// side is one of the two that are compared.
type side struct {
	*content
	name string                               // for people
	open func(name string) (io.Reader, error) // of a segment
}

// of is the side of a commit, read through o.
func (w *walk) of(o *gitread.Objects, commit string, c *content) side {
	where := "commit " + short(commit)
	return side{content: c, name: where, open: func(name string) (io.Reader, error) {
		found, err := o.Open(c.segments[name])
		switch {
		case err != nil:
			return nil, err
		case found.Kind != "blob":
			return nil, fmt.Errorf("%s of %s is not at hand: a partial clone has to fetch it first", name, where)
		}
		return w.damages.lines(name, where, o)
	}}
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// workTree is the side of the files as they are now. A file's object id is computed for what does not change, seals and
// archives; that of a file that is appended to is unknown, which no commit has.
type workTree struct {
	side
	root    *os.Root // nil where a commit stands in for them
	damages damages
	opened  *os.File
}

func newWorkTree(root *os.Root, damages damages) (*workTree, error) {
	w := &workTree{root: root, damages: damages}
	w.side = side{content: noContent(), name: "the work tree", open: w.openSegment}
	if w.regular(segment.SingleName) {
		w.segments[segment.SingleName] = ""
	}
	if err := w.list(segment.TraceDir, segment.LineSuffix, w.segments); err != nil {
		return nil, err
	}
	if err := w.listArchives(); err != nil {
		return nil, err
	}
	return w, w.listKept(sealsDir, sealSuffix, w.seals)
}

func (w *workTree) listArchives() error {
	return w.listKept(segment.ArchiveDir, segment.ArchiveSuffix, w.segments)
}

// listKept is list for files that never change.
func (w *workTree) listKept(dir, suffix string, into map[string]string) error {
	git, names := gitdir.New(w.root.Name()), map[string]string{}
	err := w.list(dir, suffix, names)
	for name := range names {
		if err == nil {
			into[name], err = w.blobID(git, name)
		}
	}
	return err
}

func (w *workTree) blobID(git *gitdir.Git, name string) (string, error) {
	file, info, err := durable.OpenRegularIn(w.root, path.Join(segment.Home, name), os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := git.NewBlobHash(info.Size())
	if _, err := io.CopyN(hash, file, info.Size()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (w *workTree) list(dir, suffix string, into map[string]string) error {
	info, err := w.root.Lstat(path.Join(segment.Home, dir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	entries, err := durable.ReadDirectoryIn(w.root, path.Join(segment.Home, dir))
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); strings.HasSuffix(name, suffix) && w.regular(name) {
			into[name] = ""
		}
	}
	return err
}

func (w *workTree) regular(name string) bool {
	info, err := w.root.Lstat(path.Join(segment.Home, name))
	return err == nil && info.Mode().IsRegular()
}

// openSegment closes the one that was opened before.
func (w *workTree) openSegment(name string) (io.Reader, error) {
	w.close()
	file, _, err := durable.OpenRegularIn(w.root, path.Join(segment.Home, name), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	w.opened = file
	return w.damages.lines(name, w.name, file)
}

func (w *workTree) close() {
	if w.opened != nil {
		w.opened.Close()
		w.opened = nil
	}
}

func isArchive(name string) bool { return strings.HasPrefix(name, segment.ArchiveDir+"/") }

// damages are sentences about archives that cannot be read to their end.
type damages map[string]bool

// lines gives the lines of a segment from its content. An archive ends where it is damaged: what stands behind is not
// known, on whichever side.
func (d damages) lines(name, side string, content io.Reader) (io.Reader, error) {
	if !isArchive(name) {
		return content, nil
	}
	text, err := framed.NewStream(content)
	return &archiveLines{text, d, name + " of " + side}, err
}

type archiveLines struct {
	text  io.Reader
	found damages
	what  string
}

func (a *archiveLines) Read(p []byte) (int, error) {
	n, err := a.text.Read(p)
	if errors.Is(err, framed.ErrDamaged) {
		a.found[fmt.Sprintf("%s cannot be read to its end, so that its other lines could not be compared: %v", a.what, err)] = true
		return n, io.EOF
	}
	return n, err
}

// content is what one commit, or the work tree, has of the ledger: object ids by name relative to .orchestration.
type content struct {
	segments map[string]string
	seals    map[string]string
}

func noContent() *content { return &content{segments: map[string]string{}, seals: map[string]string{}} }

const (
	sealsDir   = "seals"
	sealSuffix = ".note"

	maxTree = 64 << 20 // bytes of a tree object
)

type entry struct {
	name, id  string
	file, dir bool
}

// homeTree finds the tree of .orchestration in a commit, by the path of the workspace in the repository; empty if the commit
// has none. It reads each tree on the way, so that one that is not at hand is an error and not an absence.
func homeTree(o *gitread.Objects, commit string, way []string) (string, error) {
	at := commit + "^{tree}"
	for _, name := range way {
		entries, err := readTree(o, at)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name && e.dir })
		if i < 0 {
			return "", nil
		}
		at = entries[i].id
	}
	return at, nil
}

// readContent reads the tree of an .orchestration directory; none is a commit without a ledger.
func readContent(o *gitread.Objects, tree string) (*content, error) {
	c := noContent()
	if tree == "" {
		return c, nil
	}
	entries, err := readTree(o, tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case e.name == segment.SingleName && e.file:
			c.segments[e.name] = e.id
		case e.name == segment.TraceDir && e.dir:
			err = collect(o, c.segments, e, segment.LineSuffix)
		case e.name == segment.ArchiveDir && e.dir:
			err = collect(o, c.segments, e, segment.ArchiveSuffix)
		case e.name == sealsDir && e.dir:
			err = collect(o, c.seals, e, sealSuffix)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func collect(o *gitread.Objects, into map[string]string, dir entry, suffix string) error {
	entries, err := readTree(o, dir.id)
	for _, e := range entries {
		if e.file && strings.HasSuffix(e.name, suffix) {
			into[dir.name+"/"+e.name] = e.id
		}
	}
	return err
}

// readTree parses a tree object: mode, space, name, NUL and the raw id of each entry.
func readTree(o *gitread.Objects, name string) ([]entry, error) {
	found, err := o.Open(name)
	switch {
	case err != nil:
		return nil, err
	case found.Kind != "tree":
		return nil, fmt.Errorf("%s is not at hand as a tree: a partial clone has to fetch it first", name)
	}
	raw, err := io.ReadAll(io.LimitReader(o, maxTree+1))
	if err != nil {
		return nil, o.Failed(err)
	}
	if len(raw) > maxTree {
		return nil, fmt.Errorf("tree %s is larger than %d bytes", name, maxTree)
	}
	var entries []entry
	for idLen := len(found.ID) / 2; len(raw) > 0; {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		if !ok || !spaced || len(rest) < idLen {
			return nil, errors.New("git gave a tree that cannot be read: " + name)
		}
		entries = append(entries, entry{
			name: name, id: hex.EncodeToString(rest[:idLen]), file: strings.HasPrefix(mode, "100"), dir: strings.TrimLeft(mode, "0") == "40000",
		})
		raw = rest[idLen:]
	}
	return entries, nil
}
