package history

import (
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
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

// side is what one commit, or the work tree, has of the ledger: object ids by name relative to .orchestration. That of a file
// of the work tree that is appended to is unknown, which no commit has: "".
type side struct {
	segments, seals map[string]string
	name            string                               // for people
	open            func(name string) (io.Reader, error) // a segment, until the next one is opened
}

const (
	sealsDir   = "seals"
	sealSuffix = ".note"

	maxTree = 64 << 20 // bytes of a tree object
)

// in is where the files of a directory are noted, and how their names end; nil for a directory that has none of the ledger.
func (s side) in(dir string) (files map[string]string, suffix string) {
	switch dir {
	case segment.TraceDir:
		return s.segments, segment.LineSuffix
	case segment.ArchiveDir:
		return s.segments, segment.ArchiveSuffix
	case sealsDir:
		return s.seals, sealSuffix
	}
	return nil, ""
}

// sideOf is the side of a commit with a tree of .orchestration; without one it has no ledger.
func (w *walk) sideOf(commit, tree string) (side, error) {
	s := side{segments: map[string]string{}, seals: map[string]string{}, name: "commit " + short(commit)}
	s.open = func(name string) (io.Reader, error) {
		found, err := w.objects.Open(s.segments[name])
		switch {
		case err != nil:
			return nil, err
		case found.Kind != "blob":
			return nil, fmt.Errorf("%s of %s is not at hand: a partial clone has to fetch it first", name, s.name)
		}
		return w.damages.lines(name, s.name, w.objects)
	}
	if tree == "" {
		return s, nil
	}
	entries, err := w.readTree(tree)
	for _, e := range entries {
		files, suffix := s.in(e.Name)
		switch {
		case e.Name == segment.SingleName && isFile(e):
			s.segments[e.Name] = e.ID
		case files != nil && isDir(e) && err == nil:
			var inside []gitread.TreeEntry
			inside, err = w.readTree(e.ID)
			for _, f := range inside {
				if isFile(f) && strings.HasSuffix(f.Name, suffix) {
					files[e.Name+"/"+f.Name] = f.ID
				}
			}
		}
	}
	return s, err
}

func isFile(e gitread.TreeEntry) bool { return strings.HasPrefix(e.Mode, "100") }
func isDir(e gitread.TreeEntry) bool  { return strings.TrimLeft(e.Mode, "0") == "40000" }
func isArchive(name string) bool      { return strings.HasPrefix(name, segment.ArchiveDir+"/") }
func short(commit string) string      { return commit[:min(12, len(commit))] }

// homeTree finds the tree of .orchestration in a commit, by the path of the workspace in the repository; empty if the commit
// has none. It reads each tree on the way, so that one that is not at hand is an error and not an absence.
func (w *walk) homeTree(commit string) (string, error) {
	at := commit + "^{tree}"
	for _, name := range w.way {
		entries, err := w.readTree(at)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(entries, func(e gitread.TreeEntry) bool { return e.Name == name && isDir(e) })
		if i < 0 {
			return "", nil
		}
		at = entries[i].ID
	}
	return at, nil
}

func (w *walk) readTree(name string) ([]gitread.TreeEntry, error) {
	found, err := w.objects.Open(name)
	switch {
	case err != nil:
		return nil, err
	case found.Kind != "tree":
		return nil, fmt.Errorf("%s is not at hand as a tree: a partial clone has to fetch it first", name)
	case found.Size > maxTree:
		return nil, fmt.Errorf("tree %s is larger than %d bytes", name, maxTree)
	}
	raw, err := io.ReadAll(w.objects)
	if err != nil {
		return nil, w.objects.Failed(err)
	}
	entries, ok := gitread.ParseTree(raw, len(found.ID))
	if !ok {
		return nil, errors.New("git gave a tree that cannot be read: " + name)
	}
	return entries, nil
}

// workTree is the side of the files as they are now. A file's object id is computed for what does not change, seals and
// archives.
func (w *walk) workTree() (side, error) {
	s := side{map[string]string{}, map[string]string{}, "the work tree", w.openFile}
	info, err := w.workspace.Lstat(path.Join(segment.Home, segment.SingleName))
	if err == nil && info.Mode().IsRegular() {
		s.segments[segment.SingleName] = ""
	}
	for _, dir := range []string{segment.TraceDir, segment.ArchiveDir, sealsDir} {
		if err := w.list(s, dir); err != nil {
			return s, err
		}
	}
	return s, nil
}

// list notes the files of a directory of the work tree, and those that came since it was listed. A link in its place is not
// followed.
func (w *walk) list(s side, dir string) error {
	info, err := w.workspace.Lstat(path.Join(segment.Home, dir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	files, suffix := s.in(dir)
	entries, err := durable.ReadDirectoryIn(w.workspace, path.Join(segment.Home, dir))
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); err == nil && e.Type().IsRegular() && strings.HasSuffix(name, suffix) {
			id := files[name]
			if id == "" && dir != segment.TraceDir {
				id, err = w.blobID(name)
			}
			files[name] = id
		}
	}
	return err
}

func (w *walk) blobID(name string) (string, error) {
	file, info, err := durable.OpenRegularIn(w.workspace, path.Join(segment.Home, name), os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := w.begins.git.NewBlobHash(info.Size())
	if _, err := io.CopyN(hash, file, info.Size()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// openFile opens a segment of the work tree, and closes the one before.
func (w *walk) openFile(name string) (_ io.Reader, err error) {
	w.opened.Close()
	if w.opened, _, err = durable.OpenRegularIn(w.workspace, path.Join(segment.Home, name), os.O_RDONLY); err != nil {
		return nil, err
	}
	return w.damages.lines(name, w.files.name, w.opened)
}

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
