// Package live appends to one file of the ledger.
//
// # Promise
//
// A [File] knows the heads of what stands in it, whoever wrote that: other processes, git, an editor. [File.Append] links its
// lines to all of them and writes them in one write; what fails is cut off again. [File.Heal] makes sure of what a failed
// flush left.
//
// # Non-promise
//
// The caller holds the lock, and does not append to a file after a failure without Heal.
//
// # Crash
//
// A process that dies in a write leaves a last line without newline. The next append, under the lock, ends it with a
// newline if it is whole, and else moves it to state/ and logs where. A failed write is cut off again. After a failed
// write or flush the ledger takes nothing until Heal: the file is opened
// anew, what was flushed before must still be there, what came after must be records, and is written once more before
// it is flushed, because a failed flush can leave pages marked clean that never reached the disk.
package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// File is one file that this Ledger appends to, with what is known of it: the heads of its first end bytes. Its
// methods run in the writer's goroutine, and all but Flush and InPlace under the lock.
type File struct {
	Top  *durable.Top // of the root
	Disk segment.Disk
	Log  zerolog.Logger
	Now  func() time.Time
	Name string // relative to the workspace root

	File     *os.File
	identity fs.FileInfo // of the open file; holding it open keeps its inode number from being used again
	created  bool        // or found, and its directory entry is not flushed by us yet

	segment.Reached // the lines that heads accounts for
	Heads           []record.Hash
	modified        time.Time // of the file when it had been read or written up to end

	proven segment.Reached // on disk, since this file was opened

	Aside SetAside // what was last cut off the end
}

// CatchUp brings heads up to what is in the file now: what others appended, or, when git or an editor replaced it, all of it.
func (s *File) CatchUp() error {
	if err := s.reopen(); err != nil {
		return err
	}
	info, err := s.File.Stat()
	if err != nil {
		return segment.Unavailable(err)
	}
	if info.Size() == s.End && info.ModTime().Equal(s.modified) {
		return nil
	}
	s.modified = info.ModTime()
	continued := false
	if s.Continues(s.File, info.Size()) {
		if continued, err = s.readOn(info.Size()); err != nil {
			return err
		}
	}
	if !continued {
		if err := s.readAll(info.Size()); err != nil {
			return err
		}
	}
	if s.End < info.Size() {
		return s.mendTail(info.Size())
	}
	return nil
}

// reopen makes file the one that stands under the name, creating it if there is none.
func (s *File) reopen() error {
	if s.File != nil && s.InPlace() {
		return nil
	}
	s.Close()
	if dir := path.Dir(s.Name); dir != segment.Home {
		if err := segment.MakeDir(s.Top.Root(), dir, 0o755); err != nil {
			return segment.Unavailable(err)
		}
	}
	file, info, err := durable.OpenRegularIn(s.Top.Root(), s.Name, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		file, info, err = s.create()
	}
	if err != nil {
		return segment.Unavailable(err)
	}
	// Whoever made the name, git or a process that was killed, may not have flushed it.
	s.File, s.identity, s.created = file, info, true
	return nil
}

func (s *File) create() (*os.File, fs.FileInfo, error) {
	file, err := s.Top.Root().OpenFile(s.Name, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// InPlace reports whether the open file still stands under its name.
func (s *File) InPlace() bool {
	return s.Top.Is(s.Name, s.identity)
}

var errBranched = errors.New("the lines do not continue from the known heads")

// readOn takes in what others appended. Appends under the lock follow exactly the heads; anything else (lines that a
// merge or a person put there) means that all has to be read again.
func (s *File) readOn(size int64) (bool, error) {
	err := segment.Forward(io.NewSectionReader(s.File, s.End, size-s.End), s.End, func(line segment.Line) error {
		if line.Torn {
			return nil
		}
		prev, kind := record.Classify(line.Data)
		if line.TooLong || kind != record.LineRecord || !slices.Equal(prev, s.Heads) {
			return errBranched
		}
		id := record.Identity(line.Data)
		s.account(line, id)
		s.Heads = []record.Hash{id}
		return nil
	})
	if errors.Is(err, errBranched) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: read %s: %w", segment.ErrUnavailable, s.Name, err)
	}
	return true, nil
}

func (s *File) readAll(size int64) error {
	s.Reached = segment.Reached{}
	heads, err := segment.FindHeads(s.File, size, func(line segment.Line, id record.Hash, _ record.LineKind) { s.account(line, id) })
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", segment.ErrUnavailable, s.Name, err)
	}
	s.Heads = heads
	return nil
}

func (s *File) account(line segment.Line, id record.Hash) {
	s.Reached = segment.Reached{End: line.Offset + line.Size, LastAt: line.Offset, Last: id}
}

// Append writes the bodies as a chain on the heads in a single write, and returns the identity of each line.
func (s *File) Append(bodies [][]byte) ([]record.Hash, error) {
	var buf []byte
	ids := make([]record.Hash, len(bodies))
	heads, lastAt := s.Heads, s.LastAt
	for i, body := range bodies {
		begin := len(buf)
		buf = record.Link(buf, heads, body)
		ids[i] = record.Identity(buf[begin:])
		heads, lastAt = []record.Hash{ids[i]}, s.End+int64(begin)
		buf = append(buf, '\n')
	}
	if n, err := s.Disk.Write(s.File, buf); err != nil || n != len(buf) {
		return nil, s.takeBack(n, len(buf), err)
	}
	s.Heads, s.Reached = heads, segment.Reached{End: s.End + int64(len(buf)), LastAt: lastAt, Last: ids[len(ids)-1]}
	if info, err := s.File.Stat(); err == nil {
		s.modified = info.ModTime()
	}
	return ids, nil
}

// takeBack removes what a failed write left, if the file ends with it. Where that fails, the next process to append
// sets the torn line aside.
func (s *File) takeBack(wrote, want int, err error) error {
	if err == nil {
		err = io.ErrShortWrite
	}
	err = fmt.Errorf("append to %s: %d of %d bytes: %w", s.Name, wrote, want, err)
	if info, serr := s.File.Stat(); serr != nil || info.Size() != s.End+int64(wrote) {
		return fmt.Errorf("%w; the rest was left in place: somebody else wrote behind it", err)
	}
	if terr := s.Disk.Truncate(s.File, s.End); terr != nil {
		return fmt.Errorf("%w; and the rest could not be removed: %w", err, terr)
	}
	return err
}

// Flush brings the appended lines to disk, and the first time the file's name: a rotation that put it there may not have
// come so far.
func (s *File) Flush() error {
	if err := s.Disk.Flush(s.File); err != nil {
		return fmt.Errorf("flush %s: %w", s.Name, err)
	}
	if !s.created {
		s.proven = s.Reached
		return nil
	}
	for _, name := range slices.Compact([]string{path.Dir(s.Name), segment.Home}) {
		if err := segment.FlushDir(s.Top.Root(), s.Disk, name); err != nil {
			return err
		}
	}
	s.created, s.proven = false, s.Reached
	return nil
}

func (s *File) Close() {
	if s.File != nil {
		s.File.Close()
	}
	s.File, s.identity, s.created = nil, nil, false
	s.Reached, s.Heads, s.modified, s.proven = segment.Reached{}, nil, time.Time{}, segment.Reached{}
}

// PutBackIn appends whole lines to one file.
func PutBackIn(root *os.Root, name string, content []byte) error {
	if len(content) == 0 {
		return nil
	}
	s := New(root, path.Join(segment.Home, name))
	defer s.Close()
	if err := s.CatchUp(); err != nil {
		return err
	}
	if n, err := s.Disk.Write(s.File, content); err != nil || n != len(content) {
		return s.takeBack(n, len(content), err)
	}
	return s.Flush()
}

// New is one for a single use.
func New(root *os.Root, name string) *File {
	return &File{Top: durable.Hold(root), Disk: segment.RealDisk(), Log: zerolog.Nop(), Now: time.Now, Name: name}
}

// Heal starts again with a segment.
func (s *File) Heal(durable bool) (err error) {
	known, before := s.proven, s.identity
	s.Close()
	if err := s.CatchUp(); err != nil {
		return err
	}
	if before == nil || !os.SameFile(before, s.identity) {
		known = segment.Reached{} // nothing is known of what has taken its place
	}
	defer func() {
		if err != nil {
			s.proven = known
		}
	}()
	if err := s.checkFrom(known); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	if err := s.writeAgain(known.End); err != nil {
		return err
	}
	return s.Flush()
}

// checkFrom looks at what was proven, and at all lines after it.
func (s *File) checkFrom(known segment.Reached) error {
	if known.End > 0 && !known.Continues(s.File, s.End) {
		return fmt.Errorf("%w: %s no longer has what was flushed: run `orchestra-mcp verify`", segment.ErrUnavailable, s.Name)
	}
	err := segment.Forward(io.NewSectionReader(s.File, known.End, s.End-known.End), known.End, func(line segment.Line) error {
		if _, kind := record.Classify(line.Data); line.TooLong || kind == record.LineGarbage {
			return fmt.Errorf("%s has no record at offset %d: run `orchestra-mcp verify`", s.Name, line.Offset)
		}
		return nil
	})
	if err != nil {
		return segment.Unavailable(err)
	}
	return nil
}

// writeAgain makes the system write the lines from an offset on once more. They are the same bytes, so that a crash in
// between changes nothing.
func (s *File) writeAgain(from int64) (err error) {
	file, info, err := durable.OpenRegularIn(s.Top.Root(), s.Name, os.O_RDWR)
	if err != nil {
		return segment.Unavailable(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !os.SameFile(info, s.identity) {
		return fmt.Errorf("%w: %s was replaced meanwhile", segment.ErrUnavailable, path.Base(s.Name))
	}
	buf := make([]byte, 1<<20)
	for at := from; at < s.End; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), s.End-at)], at)
		if n == 0 {
			return fmt.Errorf("%w: read %s: %w", segment.ErrUnavailable, s.Name, err)
		}
		if err := s.Disk.Rewrite(file, buf[:n], at); err != nil {
			return fmt.Errorf("%w: write %s again: %w", segment.ErrUnavailable, s.Name, err)
		}
		at += int64(n)
	}
	return nil
}
