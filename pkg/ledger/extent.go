package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// extent is a segment and how much of it was complete when it was looked at.
type extent struct {
	name     string      // relative to .orchestration
	info     fs.FileInfo // nil for an archive that was known already
	archives []string    // that are in the same list, sorted
}

// errRotated: lines went from a listed file into an archive that is not in the list.
var errRotated = errors.New("the ledger was rotated meanwhile; try again")

// unlessRotated reads again from the start, with a new list, after errRotated. What was seen may be seen once more.
func unlessRotated(read func() error) error {
	for range maxRotated {
		if err := read(); !errors.Is(err, errRotated) {
			return err
		}
	}
	return errRotated
}

const maxRotated = 100 // each took as many appends as fill a segment

// extents lists the segments of both layouts, archives first. Sizes are taken under a shared lock, so that no write of
// ours is seen halfway. A reader does not wait long for it: without the lock it may see a line that is just being
// written.
func extents(ctx context.Context, root *os.Root) ([]extent, []Problem, error) {
	return extentsBut(ctx, root, func(string) bool { return false })
}

// extentsBut does not look at archives that are known: a hundred of them would be most of a query's time.
func extentsBut(ctx context.Context, root *os.Root, known func(archive string) bool) ([]extent, []Problem, error) {
	unlock, err := lockHome(ctx, root, false, readerLockWait)
	switch {
	case errors.Is(err, ErrNotInitialized):
		return nil, nil, nil
	case errors.Is(err, ErrBusy):
	case err != nil:
		return nil, nil, err
	default:
		defer unlock()
	}
	names, err := segmentNames(root)
	if err != nil {
		return nil, nil, err
	}
	// The files that are appended to come first: what a rotation takes out of them after this look is in no archive
	// that the list lacks, or shows by the file's being another one.
	active, problems := look(root, names)
	if names, err = archiveNames(root); err != nil {
		return nil, nil, err
	}
	archives, more := lookBut(root, names, known)
	for i := range active {
		active[i].archives = names
	}
	return slices.Concat(archives, active), append(problems, more...), nil
}

func look(root *os.Root, names []string) (found []extent, problems []Problem) {
	return lookBut(root, names, func(string) bool { return false })
}

func lookBut(root *os.Root, names []string, known func(string) bool) (found []extent, problems []Problem) {
	at := &lastDir{root: root}
	defer at.close()
	found = make([]extent, 0, len(names))
	for _, name := range names {
		if known(name) {
			found = append(found, extent{name: name})
			continue
		}
		info, err := at.lstat(path.Join(home, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, Problem{Kind: ProblemUnreadable, Segment: name, Detail: err.Error()})
		case !info.Mode().IsRegular():
			problems = append(problems, Problem{Kind: ProblemUnreadable, Segment: name, Detail: "not a regular file"})
		default:
			found = append(found, extent{name: name, info: info})
		}
	}
	return found, problems
}

// lastDir holds the directory open that it was last asked about: of a hundred archives, each would else be found from
// the top.
type lastDir struct {
	root *os.Root
	name string
	dir  *os.Root
}

func (d *lastDir) lstat(name string) (fs.FileInfo, error) {
	if in := path.Dir(name); d.dir == nil || in != d.name {
		d.close()
		dir, err := d.root.OpenRoot(in + "/")
		if err != nil {
			return nil, err
		}
		d.name, d.dir = in, dir
	}
	return d.dir.Lstat(path.Base(name))
}

func (d *lastDir) close() {
	if d.dir != nil {
		d.dir.Close()
	}
}

// segmentNames are the files that are appended to.
func segmentNames(root *os.Root) ([]string, error) {
	names, err := namesIn(root, traceDir, lineSuffix)
	return append([]string{singleName}, names...), err
}

// archiveNames come in order of time.
func archiveNames(root *os.Root) ([]string, error) { return namesIn(root, archiveDir, archiveSuffix) }

func namesIn(root *os.Root, dir, suffix string) ([]string, error) {
	if info, err := root.Lstat(path.Join(home, dir)); err == nil && !info.IsDir() {
		return []string{dir}, nil // a problem for whoever looks at it: links are not followed
	}
	all, err := readNames(root, path.Join(home, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s/%s: %w", home, dir, err)
	}
	names := make([]string, 0, len(all))
	for _, name := range all {
		if strings.HasSuffix(name, suffix) {
			names = append(names, dir+"/"+name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// readNames asks nothing about the entries, as reading the directory in any other way does.
func readNames(root *os.Root, name string) ([]string, error) {
	dir, err := openDirectory(root, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// content is what readers need of a segment: its lines by their offsets, in whatever form they are kept.
type content interface {
	io.ReaderAt
	io.Closer
}

// open gives the segment's content and the size to read. If git put another file there since, that one counts whole;
// if a rotation did, the error is errRotated.
func (x extent) open(root *os.Root) (content, int64, error) {
	file, info, err := openRegular(root, path.Join(home, x.name), os.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	if x.archived() {
		a, err := newArchive(file, info.Size())
		if err != nil {
			file.Close()
			return nil, 0, err
		}
		return a, a.Size(), nil
	}
	if os.SameFile(info, x.info) && info.Size() >= x.info.Size() {
		return file, x.info.Size(), nil
	}
	names, err := archiveNames(root)
	if err == nil && slices.ContainsFunc(names, x.unlisted) {
		err = errRotated
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

func (x extent) unlisted(archive string) bool {
	_, listed := slices.BinarySearch(x.archives, archive)
	return !listed
}

func (x extent) archived() bool { return strings.HasPrefix(x.name, archiveDir+"/") }
