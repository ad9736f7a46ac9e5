package ledger

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
)

// segment is one file that this Ledger appends to, with what is known of it: the heads of its first end bytes. Its
// methods run in the writer's goroutine, and all but flush and inPlace under the lock.
type segment struct {
	root *os.Root
	disk disk
	log  zerolog.Logger
	now  func() time.Time
	name string // relative to the workspace root

	file     *os.File
	identity fs.FileInfo // of the open file; holding it open keeps its inode number from being used again
	created  bool        // or found, and its directory entry is not flushed by us yet

	end      int64 // of the lines that heads accounts for
	heads    []digest
	lastAt   int64 // where the last of them begins
	last     digest
	modified time.Time // of the file when it had been read or written up to end

	proven proven // on disk, since this file was opened

	aside SetAside // what was last cut off the end
}

// catchUp brings heads up to what is in the file now: what others appended, or, when git or an editor replaced it,
// all of it.
func (s *segment) catchUp() error {
	if err := s.reopen(); err != nil {
		return err
	}
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if info.Size() == s.end && info.ModTime().Equal(s.modified) {
		return nil
	}
	s.modified = info.ModTime()
	continued := false
	if s.grewFrom(info.Size()) {
		if continued, err = s.readOn(info.Size()); err != nil {
			return err
		}
	}
	if !continued {
		if err := s.readAll(info.Size()); err != nil {
			return err
		}
	}
	if s.end < info.Size() {
		return s.mendTail(info.Size())
	}
	return nil
}

// reopen makes file the one that stands under the name, creating it if there is none.
func (s *segment) reopen() error {
	if s.file != nil && s.inPlace() {
		return nil
	}
	s.close()
	if dir := path.Dir(s.name); dir != home {
		if err := makeDir(s.root, dir, 0o755); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	file, info, err := openRegular(s.root, s.name, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		file, info, err = s.create()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	// Whoever made the name, git or a process that was killed, may not have flushed it.
	s.file, s.identity, s.created = file, info, true
	return nil
}

func (s *segment) create() (*os.File, fs.FileInfo, error) {
	file, err := s.root.OpenFile(s.name, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
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

// inPlace reports whether the open file still stands under its name.
func (s *segment) inPlace() bool {
	info, err := s.root.Lstat(s.name)
	return err == nil && os.SameFile(info, s.identity)
}

// grewFrom reports whether the file still has the line that was last known, where it was.
func (s *segment) grewFrom(size int64) bool {
	if s.end == 0 || size < s.end || s.end-s.lastAt > maxLineToRead {
		return false
	}
	return s.hasLine(s.lastAt, s.end, s.last)
}

func (s *segment) hasLine(at, end int64, id digest) bool {
	line := make([]byte, end-at)
	_, err := s.file.ReadAt(line, at)
	return err == nil && identity(trimEnd(line)) == id
}

var errBranched = errors.New("the lines do not continue from the known heads")

// readOn takes in what others appended. Appends under the lock follow exactly the heads; anything else (lines that a
// merge or a person put there) means that all has to be read again.
func (s *segment) readOn(size int64) (bool, error) {
	err := forward(io.NewSectionReader(s.file, s.end, size-s.end), s.end, func(line rawLine) error {
		if line.torn {
			return nil
		}
		prev, kind := classify(line.data)
		if line.tooLong || kind != lineRecord || !slices.Equal(prev, s.heads) {
			return errBranched
		}
		id := identity(line.data)
		s.account(line, id)
		s.heads = []digest{id}
		return nil
	})
	if errors.Is(err, errBranched) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: read %s: %w", ErrUnavailable, s.name, err)
	}
	return true, nil
}

func (s *segment) readAll(size int64) error {
	s.end, s.lastAt = 0, 0
	heads, err := findHeads(s.file, size, func(line rawLine, id digest, _ lineKind) { s.account(line, id) })
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", ErrUnavailable, s.name, err)
	}
	s.heads = heads
	return nil
}

func (s *segment) account(line rawLine, id digest) {
	s.lastAt, s.last, s.end = line.offset, id, line.offset+line.size
}

// append writes the bodies as a chain on the heads in a single write, and returns the identity of each line.
func (s *segment) append(bodies [][]byte) ([]digest, error) {
	var buf []byte
	ids := make([]digest, len(bodies))
	heads, lastAt := s.heads, s.lastAt
	for i, body := range bodies {
		begin := len(buf)
		buf = link(buf, heads, body)
		ids[i] = identity(buf[begin:])
		heads, lastAt = []digest{ids[i]}, s.end+int64(begin)
		buf = append(buf, '\n')
	}
	if n, err := s.disk.write(s.file, buf); err != nil || n != len(buf) {
		return nil, s.takeBack(n, len(buf), err)
	}
	s.heads, s.lastAt, s.last, s.end = heads, lastAt, ids[len(ids)-1], s.end+int64(len(buf))
	if info, err := s.file.Stat(); err == nil {
		s.modified = info.ModTime()
	}
	return ids, nil
}

// takeBack removes what a failed write left, if the file ends with it. Where that fails, the next process to append
// sets the torn line aside.
func (s *segment) takeBack(wrote, want int, err error) error {
	if err == nil {
		err = io.ErrShortWrite
	}
	err = fmt.Errorf("append to %s: %d of %d bytes: %w", s.name, wrote, want, err)
	if info, serr := s.file.Stat(); serr != nil || info.Size() != s.end+int64(wrote) {
		return fmt.Errorf("%w; the rest was left in place: somebody else wrote behind it", err)
	}
	if terr := s.disk.truncate(s.file, s.end); terr != nil {
		return fmt.Errorf("%w; and the rest could not be removed: %w", err, terr)
	}
	return err
}

// flush brings the appended lines to disk, and the first time the file's name: a rotation that put it there may not have
// come so far.
func (s *segment) flush() error {
	if err := s.disk.flush(s.file); err != nil {
		return fmt.Errorf("flush %s: %w", s.name, err)
	}
	if !s.created {
		s.proven = proven{s.end, s.lastAt, s.last}
		return nil
	}
	for _, name := range slices.Compact([]string{path.Dir(s.name), home}) {
		if err := flushDirNamed(s.root, s.disk, name); err != nil {
			return err
		}
	}
	s.created, s.proven = false, proven{s.end, s.lastAt, s.last}
	return nil
}

func flushDirNamed(root *os.Root, d disk, name string) error {
	dir, err := openDirectory(root, name)
	if err != nil {
		return fmt.Errorf("flush %s: %w", name, err)
	}
	defer dir.Close()
	if err := d.flushDir(dir); err != nil {
		return fmt.Errorf("flush %s: %w", name, err)
	}
	return nil
}

func (s *segment) close() {
	if s.file != nil {
		s.file.Close()
	}
	s.file, s.identity, s.created = nil, nil, false
	s.end, s.heads, s.lastAt, s.last, s.modified = 0, nil, 0, digest{}, time.Time{}
	s.proven = proven{}
}
