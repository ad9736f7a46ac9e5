package history

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
)

// side is one of the two that are compared.
type side struct {
	*content
	name string // for people
	open func(segment string) (io.Reader, error)
}

// of is the side of a commit, read through o.
func (w *walk) of(o *objects, commit string, c *content) side {
	name := "commit " + short(commit)
	return side{content: c, name: name, open: func(segment string) (io.Reader, error) {
		found, err := o.Open(c.segments[segment])
		switch {
		case err != nil:
			return nil, err
		case found.Kind != "blob":
			return nil, fmt.Errorf("%s of %s is not at hand: a partial clone has to fetch it first", segment, name)
		}
		return w.damages.lines(segment, name, o)
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

const home = ".orchestration"

func newWorkTree(root *os.Root, damages damages) (*workTree, error) {
	w := &workTree{root: root, damages: damages}
	w.side = side{content: noContent(), name: "the work tree", open: w.openSegment}
	if w.regular(singleName) {
		w.segments[singleName] = ""
	}
	if err := w.list(traceDir, lineSuffix, w.segments); err != nil {
		return nil, err
	}
	if err := w.listArchives(); err != nil {
		return nil, err
	}
	if err := w.list(sealsDir, sealSuffix, w.seals); err != nil {
		return nil, err
	}
	git := gitdir.New(root.Name())
	for name := range w.seals {
		id, err := w.blobID(git, name)
		if err != nil {
			return nil, err
		}
		w.seals[name] = id
	}
	return w, nil
}

func (w *workTree) listArchives() error {
	git := gitdir.New(w.root.Name())
	names := map[string]string{}
	err := w.list(archiveDir, packSuffix, names)
	for name := range names {
		if err == nil {
			w.segments[name], err = w.blobID(git, name)
		}
	}
	return err
}

func (w *workTree) blobID(git *gitdir.Git, name string) (string, error) {
	file, info, err := durable.OpenRegularIn(w.root, path.Join(home, name), os.O_RDONLY)
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
	info, err := w.root.Lstat(path.Join(home, dir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	entries, err := durable.ReadDirectoryIn(w.root, path.Join(home, dir))
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); strings.HasSuffix(name, suffix) && w.regular(name) {
			into[name] = ""
		}
	}
	return err
}

func (w *workTree) regular(name string) bool {
	info, err := w.root.Lstat(path.Join(home, name))
	return err == nil && info.Mode().IsRegular()
}

// openSegment closes the one that was opened before.
func (w *workTree) openSegment(segment string) (io.Reader, error) {
	w.close()
	file, _, err := durable.OpenRegularIn(w.root, path.Join(home, segment), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	w.opened = file
	return w.damages.lines(segment, w.name, file)
}

func (w *workTree) close() {
	if w.opened != nil {
		w.opened.Close()
		w.opened = nil
	}
}
