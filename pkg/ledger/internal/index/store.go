package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

const (
	indexDir    = segment.Home + "/cache/index"
	indexSuffix = ".idx"
	tempSuffix  = ".tmp"

	maxIndexFile = 1 << 30
	maxHeldOpen  = 256 // index files; others are opened for each read
	relist       = time.Second
	// Files that no segment in sight wants are kept for the branches that may come back.
	keptUnused = 7 * 24 * time.Hour
)

// indexStore is the directory of runs. Whatever stands in it, or happens to it, costs time only.
type indexStore struct {
	root   *os.Root
	dir    *os.Root              // the directory itself while several files are opened; nil else
	files  map[string][]fileSpan // by the first half of the name
	listed time.Time
	held   atomic.Int64
	swept  bool
}

// fileSpan is what a file's name says of it: <segment>-<from>-<to>, in hexadecimal.
type fileSpan struct {
	name     string
	from, to int64
}

func segmentText(segment [32]byte) string { return fmt.Sprintf("%x", segment[:8]) }

func indexName(span postings.Span) string {
	return fmt.Sprintf("%s-%x-%x%s", segmentText(span.Segment), span.From, span.To, indexSuffix)
}

func parseIndexName(name string) (segment string, f fileSpan, ok bool) {
	f.name = name
	segment, rest, _ := strings.Cut(name, "-")
	n, err := fmt.Sscanf(rest, "%x-%x"+indexSuffix, &f.from, &f.to)
	return segment, f, err == nil && n == 2 && len(segment) == 16
}

// next opens the longest run of the segment that begins at from and that fits.
func (s *indexStore) next(segment [32]byte, from int64, fits func(postings.Span) bool) (Covered, bool) {
	if time.Since(s.listed) > relist {
		s.list()
	}
	var some []fileSpan
	for _, f := range s.files[segmentText(segment)] {
		if f.from == from {
			some = append(some, f)
		}
	}
	slices.SortFunc(some, func(a, b fileSpan) int { return int(min(1, max(-1, b.to-a.to))) })
	for _, f := range some {
		run, err := s.open(f.name)
		if err != nil {
			continue
		}
		if span := run.Span(); span.Segment == segment && span.From == from && fits(span) {
			return Covered{span, run, f.name}, true
		}
	}
	return Covered{}, false
}

func (s *indexStore) list() {
	s.listed, s.files = time.Now(), map[string][]fileSpan{}
	names, err := segment.ReadNames(s.root, indexDir)
	if err != nil {
		return
	}
	for _, name := range names {
		if segment, f, ok := parseIndexName(name); ok {
			s.files[segment] = append(s.files[segment], f)
		}
	}
}

// release closes the directory: it may be deleted at any time, and who holds it open would not notice.
func (s *indexStore) release() {
	if s.dir != nil {
		s.dir.Close()
		s.dir = nil
	}
}

func (s *indexStore) open(name string) (_ *postings.Run, err error) {
	if s.dir == nil {
		if s.dir, err = s.root.OpenRoot(indexDir + "/"); err != nil {
			return nil, err
		}
	}
	file, info, err := durable.OpenRegularIn(s.dir, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndexFile {
		file.Close()
		return nil, fmt.Errorf("%w: it is too long", postings.ErrDamaged)
	}
	var at io.ReaderAt = file
	if s.held.Load() >= maxHeldOpen || runtime.GOOS == "windows" { // where an open file cannot be deleted
		file.Close()
		at = unheld{s.root, name}
	} else {
		s.held.Add(1)
		runtime.AddCleanup(file, func(held *atomic.Int64) { held.Add(-1) }, &s.held) // which closes it, too
	}
	return postings.Open(at, info.Size())
}

// unheld opens its file for each read.
type unheld struct {
	root *os.Root
	name string
}

func (u unheld) ReadAt(p []byte, off int64) (int, error) {
	file, _, err := durable.OpenRegularIn(u.root, path.Join(indexDir, u.name), os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return file.ReadAt(p, off)
}

// write puts a run into a file of its own, which another process may do at the same time. It is not flushed: what a
// power cut leaves of it is found by its checksums.
func (s *indexStore) write(span postings.Span, data []byte) (Covered, error) {
	name := indexName(span)
	err := s.put(name, data)
	if err == nil {
		run, err := s.open(name)
		if err == nil {
			return Covered{span, run, name}, nil
		}
	}
	run, err := postings.Open(bytes.NewReader(data), int64(len(data)))
	return Covered{span, run, ""}, err
}

func (s *indexStore) put(name string, data []byte) (err error) {
	if _, err := segment.HomeInfo(s.root); err != nil {
		return err
	}
	for _, dir := range []string{path.Dir(indexDir), indexDir} {
		if err := segment.MakeDir(s.root, dir, 0o755); err != nil {
			return err
		}
	}
	temp := path.Join(indexDir, uuid.NewString()+tempSuffix)
	file, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = s.root.Rename(temp, path.Join(indexDir, name))
	}
	if err != nil {
		return errors.Join(err, s.root.Remove(temp))
	}
	s.listed = time.Time{}
	return nil
}

func (s *indexStore) remove(runs []Covered) {
	for _, run := range runs {
		if run.Name != "" {
			_ = s.root.Remove(path.Join(indexDir, run.Name))
		}
	}
	s.listed = time.Time{}
}

// sweep removes what nobody has wanted for long, and what writers left that died.
func (s *indexStore) sweep(wanted map[string]bool) {
	entries, err := durable.ReadDirectoryIn(s.root, indexDir)
	if err != nil || s.swept {
		return
	}
	s.swept = true
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && !wanted[entry.Name()] && time.Since(info.ModTime()) > keptUnused {
			_ = s.root.Remove(path.Join(indexDir, entry.Name()))
		}
	}
}

const (
	maxHeldLines = 256 << 10 // bytes of all lines
	maxHeldLine  = 8 << 10
	// What asks for more is not asked again and again, and would push out what is.
	MaxHeldLimit = 64
)

// heldLines has lines of archives that answered lately: to read one again is to decompress all around it. Archives never
// change, so neither do they. Safe for concurrent use.
type heldLines struct {
	mu    sync.Mutex
	lines map[linePlace][]byte
	size  int
}

type linePlace struct {
	archive string
	offset  int64
}

func (h *heldLines) Get(archive string, offset int64) (segment.Line, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, held := h.lines[linePlace{archive, offset}]
	return segment.Line{Data: data, Offset: offset, Size: int64(len(data)) + 1}, held
}

// Put takes a copy of the line.
func (h *heldLines) Put(archive string, line segment.Line) {
	if len(line.Data) > maxHeldLine {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size += len(line.Data); h.lines == nil || h.size > maxHeldLines {
		h.lines, h.size = map[linePlace][]byte{}, len(line.Data)
	}
	h.lines[linePlace{archive, line.Offset}] = bytes.Clone(line.Data)
}
