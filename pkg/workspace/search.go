package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// Search looks for something in the files of a workspace, in no order.
type Search struct {
	// Find gives the first place of a text, or of a piece of one, that is looked
	// for. It is called by several goroutines at a time.
	Find func(text []byte) (at int, what string, found bool)
	// Overlap is how many bytes the pieces of a long file share.
	Overlap int
	// Skip names files that are not looked into; nil for none.
	Skip func(path string) bool
	// Secret names files that must not be read; nil for none. Where there is one, the search fails with ErrSecret.
	Secret func(path string) bool
}

// Occurrence is a place that a search found.
type Occurrence struct {
	Path string // slash-separated, relative to the workspace
	Line int    // from 1
	What string
}

// Why a search did not look into everything.
var (
	ErrSecret   = errors.New("a secret file is not looked into")
	ErrTooMuch  = fmt.Errorf("there is more than %d MiB", searchTotal>>20)
	errTooDeep  = fmt.Errorf("directories are nested more than %d deep", maxWalkDepth)
	errFinished = errors.New("the search is over")
)

const (
	// searchWorkers look into files at a time.
	searchWorkers = 2
	// searchPiece is how much of a file is looked at at once, in bytes.
	searchPiece = 1 << 20
	// searchTotal bounds what one search reads, in bytes.
	searchTotal = 512 << 20
)

// Search looks into all regular files, whatever is in them, and gives a place where something was found; nil if there
// is none. Left out are .git, what is the server's own below .orchestration, directories that .gitignore hides
// (installed packages and what a build makes of the files that are looked into), and binary files that it hides. Links
// are not followed, and nothing is opened that is no regular file. Whatever else could not be looked into is an error:
// without one, and without a place, no file had it at the moment at which it was read. It locks nothing and keeps
// nothing.
func (w *Workspace) Search(ctx context.Context, search Search) (*Occurrence, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &searcher{Search: search, end: cancel, slots: make(chan struct{}, searchWorkers-1)}
	s.pieces.New = func() any { return new([]byte) }
	s.directory(ctx, w.top, ".", nil, maxWalkDepth)
	s.all.Wait()
	if found := s.found.Load(); found != nil {
		return found, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, nil
}

// searcher is one search.
type searcher struct {
	Search
	end    context.CancelCauseFunc
	slots  chan struct{} // for what runs beside the first worker
	all    sync.WaitGroup
	found  atomic.Pointer[Occurrence]
	read   atomic.Int64
	pieces sync.Pool
}

// beside runs work on another worker if one is free; false if it is not.
func (s *searcher) beside(work func()) bool {
	select {
	case s.slots <- struct{}{}:
	default:
		return false
	}
	s.all.Go(func() {
		defer func() { <-s.slots }()
		work()
	})
	return true
}

// directory looks into a directory, which stays open until it returns.
func (s *searcher) directory(ctx context.Context, dir *durable.Dir, at string, rules gitignore.List, depth int) {
	if ctx.Err() != nil {
		return
	}
	entries, err := dir.ReadDir()
	if err != nil {
		s.fail(at, err)
		return
	}
	rules = s.rules(dir, at, entries, rules)
	var files, dirs []string
	for _, e := range entries {
		switch name := path.Join(at, e.Name()); {
		case strings.EqualFold(e.Name(), ".git"), name == ".orchestration":
		case e.IsDir():
			if _, hidden := rules.Match(name, true); !hidden {
				dirs = append(dirs, e.Name())
			}
		case e.Type().IsRegular() && (s.Skip == nil || !s.Skip(name)):
			files = append(files, e.Name())
		}
	}
	for _, name := range files {
		if ctx.Err() != nil {
			return
		}
		s.file(dir, name, path.Join(at, name), rules)
	}
	for _, name := range dirs {
		s.child(ctx, dir, name, path.Join(at, name), rules, depth-1)
	}
}

func (s *searcher) child(ctx context.Context, parent *durable.Dir, name, at string, rules gitignore.List, depth int) {
	if depth == 0 {
		s.fail(at, errTooDeep)
		return
	}
	child, err := parent.OpenDir(name)
	if err != nil {
		s.fail(at, err)
		return
	}
	look := func() {
		defer child.Close()
		s.directory(ctx, child, at, rules, depth)
	}
	if !s.beside(look) {
		look()
	}
}

// rules are those of a directory, with its own.
func (s *searcher) rules(dir *durable.Dir, at string, entries []fs.DirEntry, above gitignore.List) gitignore.List {
	for _, e := range entries {
		if e.Name() == ".gitignore" && e.Type().IsRegular() {
			if content, err := readFile(dir, e.Name(), rulesLimit); err == nil {
				return addRules(above, at, string(content.Bytes))
			}
		}
	}
	return above
}

func (s *searcher) file(dir *durable.Dir, name, at string, rules gitignore.List) {
	if s.Secret != nil && s.Secret(at) {
		if _, hidden := rules.Match(at, false); !hidden {
			s.end(ErrSecret)
		}
		return
	}
	f, err := dir.Open(name)
	if err != nil {
		s.fail(at, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		s.fail(at, err)
		return
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return
	}
	piece := s.pieces.Get().(*[]byte)
	defer s.pieces.Put(piece)
	if err := s.look(f, info.Size(), at, rules, piece); err != nil {
		s.fail(at, err)
	}
}

// look goes through a file piece by piece.
func (s *searcher) look(f *os.File, size int64, at string, rules gitignore.List, buffer *[]byte) error {
	want := int(min(size+1, searchPiece)) + s.Overlap
	if cap(*buffer) < want {
		*buffer = make([]byte, want)
	}
	piece, kept, lines := (*buffer)[:want], 0, 1
	for {
		n, err := io.ReadFull(f, piece[kept:])
		if s.read.Add(int64(n)) > searchTotal {
			s.end(ErrTooMuch)
			return nil
		}
		text := piece[:kept+n]
		if where, what, found := s.Find(text); found {
			if bytes.IndexByte(text, 0) >= 0 {
				if _, hidden := rules.Match(at, false); hidden {
					return nil
				}
			}
			s.found.CompareAndSwap(nil, &Occurrence{Path: at, Line: lines + bytes.Count(text[:where], []byte("\n")), What: what})
			s.end(errFinished)
			return nil
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		}
		kept = min(s.Overlap, len(text))
		lines += bytes.Count(text[:len(text)-kept], []byte("\n"))
		copy(piece, text[len(text)-kept:])
	}
}

// fail ends a search that cannot look into something that is still there.
func (s *searcher) fail(at string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	s.end(fmt.Errorf("%s: %w", at, err))
}
