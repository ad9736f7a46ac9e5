package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Extent is a segment and how much of it was complete when it was looked at.
type Extent struct {
	Name     string      // relative to .orchestration
	Info     fs.FileInfo // nil for an archive that was known already
	archives []string    // that are in the same list, sorted
}

// ErrRotated: lines went from a listed file into an archive that is not in the list.
var ErrRotated = errors.New("the ledger was rotated meanwhile; try again")

// UnlessRotated reads again from the start, with a new list, after ErrRotated. What was seen may be seen once more.
func UnlessRotated(read func() error) error {
	for range maxRotated {
		if err := read(); !errors.Is(err, ErrRotated) {
			return err
		}
	}
	return ErrRotated
}

const maxRotated = 100 // each took as many appends as fill a segment

// List lists the segments of both layouts, archives first. Sizes are taken under a shared lock, so that no write of
// ours is seen halfway. A reader does not wait long for it: without the lock it may see a line that is just being
// written. Archives that are known are not looked at: a hundred of them would be most of a query's time.
func List(ctx context.Context, root *os.Root, known ...func(archive string) bool) ([]Extent, []Problem, error) {
	unlock, err := Lock(ctx, root, false, readerLockWait)
	switch {
	case errors.Is(err, ErrNotInitialized):
		return nil, nil, nil
	case errors.Is(err, ErrBusy):
	case err != nil:
		return nil, nil, err
	default:
		defer unlock()
	}
	names, err := SegmentNames(root)
	if err != nil {
		return nil, nil, err
	}
	// The files that are appended to come first: what a rotation takes out of them after this look is in no archive
	// that the list lacks, or shows by the file's being another one.
	active, problems := Look(root, names)
	if names, err = ArchiveNames(root); err != nil {
		return nil, nil, err
	}
	archives, more := Look(root, names, known...)
	for i := range active {
		active[i].archives = names
	}
	return slices.Concat(archives, active), append(problems, more...), nil
}

// Look looks at files by their names, but for those that are known.
func Look(root *os.Root, names []string, known ...func(name string) bool) (found []Extent, problems []Problem) {
	found = make([]Extent, 0, len(names))
	for _, name := range names {
		if len(known) > 0 && known[0](name) {
			found = append(found, Extent{Name: name})
			continue
		}
		info, err := root.Lstat(path.Join(Home, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, Problem{Kind: ProblemUnreadable, Segment: name, Detail: err.Error()})
		case !info.Mode().IsRegular():
			problems = append(problems, Problem{Kind: ProblemUnreadable, Segment: name, Detail: "not a regular file"})
		default:
			found = append(found, Extent{Name: name, Info: info})
		}
	}
	return found, problems
}

// SegmentNames are the files that are appended to.
func SegmentNames(root *os.Root) ([]string, error) {
	names, err := namesIn(root, TraceDir, LineSuffix)
	return append([]string{SingleName}, names...), err
}

// ArchiveNames come in order of time.
func ArchiveNames(root *os.Root) ([]string, error) { return namesIn(root, ArchiveDir, ArchiveSuffix) }

func namesIn(root *os.Root, dir, suffix string) ([]string, error) {
	if info, err := root.Lstat(path.Join(Home, dir)); err == nil && !info.IsDir() {
		return []string{dir}, nil // a problem for whoever looks at it: links are not followed
	}
	all, err := ReadNames(root, path.Join(Home, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s/%s: %w", Home, dir, err)
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

// ReadNames asks nothing about the entries, as reading the directory in any other way does.
func ReadNames(root *os.Root, name string) ([]string, error) {
	dir, err := durable.OpenDirectoryIn(root, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// Content is what readers need of a segment: its lines by their offsets, in whatever form they are kept.
type Content interface {
	io.ReaderAt
	io.Closer
}

// Open gives the segment's content and the size to read. If git put another file there since, that one counts whole;
// if a rotation did, the error is ErrRotated.
func (x Extent) Open(root *os.Root) (Content, int64, error) {
	file, info, err := durable.OpenRegularIn(root, path.Join(Home, x.Name), os.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	if x.Archived() {
		lines, err := framed.NewReader(file, info.Size())
		if err != nil {
			file.Close()
			return nil, 0, err
		}
		return archive{lines, file}, lines.Size(), nil
	}
	if os.SameFile(info, x.Info) && info.Size() >= x.Info.Size() {
		return file, x.Info.Size(), nil
	}
	names, err := ArchiveNames(root)
	if err == nil && slices.ContainsFunc(names, func(archive string) bool {
		_, listed := slices.BinarySearch(x.archives, archive)
		return !listed
	}) {
		err = ErrRotated
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// Read gives the lines of a segment, and goes around what is damaged: that, and that it cannot be opened at all, are problems to
// tell. An error is yield's, the context's, ErrRotated, or one of reading.
func (x Extent) Read(ctx context.Context, root *os.Root, newest bool, yield func(Line) error, tell func(Problem)) error {
	file, size, err := x.Open(root)
	if errors.Is(err, ErrRotated) {
		return err
	}
	if err != nil {
		tell(Problem{Kind: ProblemUnreadable, Segment: x.Name, Detail: err.Error()})
		return nil
	}
	defer file.Close()
	return ReadLines(file, size, newest, func(line Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return yield(line)
	}, func(d *framed.Damage) { tell(DamageProblem(x.Name, d)) })
}

func (x Extent) Archived() bool { return strings.HasPrefix(x.Name, ArchiveDir+"/") }

// AllNames are the names of a ledger's files, those that are appended to first.
func AllNames(root *os.Root) ([]string, error) {
	names, err := SegmentNames(root)
	if err != nil {
		return nil, err
	}
	archives, err := ArchiveNames(root)
	return append(names, archives...), err
}

// RawLine is one line of the ledger as it stands, not parsed.
type RawLine struct {
	Segment string // relative to .orchestration; "" where only a content was given
	Number  int    // 1-based
	Hash    record.Hash
	Data    []byte // without the newline; valid until visit returns
	// Whole is false for what is no line of a ledger: torn, too long, or not a JSON object.
	Whole bool
}

// EachLine is locate.EachLine where the ledger stands.
func EachLine(ctx context.Context, root *os.Root, visit func(RawLine) error) ([]Problem, error) {
	places, problems, err := List(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	for _, place := range places {
		err := place.Read(ctx, root, false, func(line Line) error {
			if !line.TooLong && len(bytes.TrimSpace(line.Data)) == 0 {
				return nil
			}
			return visit(rawLine(place.Name, line))
		}, func(p Problem) { problems = append(problems, p) })
		if err != nil {
			return problems, fmt.Errorf("read the ledger: %s: %w", place.Name, err)
		}
	}
	return problems, nil
}

func rawLine(segment string, line Line) RawLine {
	found := RawLine{Segment: segment, Number: line.Number, Data: line.Data}
	if line.TooLong {
		return found
	}
	_, kind := record.Classify(line.Data)
	found.Whole = kind.Linked() && (!line.Torn || record.IsWhole(line.Data))
	found.Hash = record.Identity(line.Data)
	return found
}

// WholeLines gives the lines of a segment that a ledger can have, and goes around what is damaged.
func WholeLines(ctx context.Context, root *os.Root, place Extent, yield func([]byte) error) error {
	file, size, err := place.Open(root)
	if err != nil {
		return IgnoreGone(err)
	}
	defer file.Close()
	return ReadLines(file, size, false, func(line Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, _, kind := ReadChain(line); !kind.Linked() {
			return nil // verify tells of it where it stands
		}
		return yield(line.Data)
	}, func(*framed.Damage) {})
}
