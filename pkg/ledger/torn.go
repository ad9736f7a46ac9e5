package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// mendTail deals with a last line that has no newline, which a crash in the middle of a write leaves. The lock is
// held, so nobody is still writing it. A line that is whole gets its newline. Anything else is moved to a file of its
// own under state/, flushed there before it is cut off here.
func (s *segment) mendTail(size int64) error {
	tail := io.NewSectionReader(s.file, s.end, size-s.end)
	if size-s.end <= maxLineToRead {
		line, err := io.ReadAll(tail)
		if err != nil {
			return fmt.Errorf("%w: read the end of %s: %w", ErrUnavailable, s.name, err)
		}
		if _, err := Parse(line); err == nil {
			return s.endLine(size)
		}
		tail.Seek(0, io.SeekStart)
	}
	return s.cutTail(tail, size)
}

// cutTail moves what stands behind the last whole line to a file of its own.
func (s *segment) cutTail(tail io.Reader, size int64) error {
	aside, err := s.setAside(tail)
	if err != nil {
		return fmt.Errorf("%w: set the torn end of %s aside: %w", ErrUnavailable, s.name, err)
	}
	if err := s.disk.truncate(s.file, s.end); err != nil {
		return fmt.Errorf("%w: cut the torn end off %s: %w", ErrUnavailable, s.name, err)
	}
	s.aside = SetAside{Segment: s.name, Offset: s.end, Bytes: size - s.end, File: aside}
	s.log.Warn().Str("segment", s.name).Int64("offset", s.end).Int64("bytes", size-s.end).Str("set_aside", aside).
		Msg("the last ledger line was torn by a crash and has been set aside")
	return nil
}

// endLine gives the last line its newline and reads all again.
func (s *segment) endLine(size int64) error {
	if n, err := s.disk.write(s.file, []byte("\n")); err != nil || n != 1 {
		return fmt.Errorf("%w: end the last line of %s: %w", ErrUnavailable, s.name, errors.Join(err, io.ErrShortWrite))
	}
	s.log.Warn().Str("segment", s.name).Msg("the last ledger line was whole but had no newline; it has one now")
	return s.readAll(size + 1)
}

func (s *segment) setAside(tail io.Reader) (string, error) {
	dir := path.Join(home, stateDir)
	if err := makeDir(s.root, dir, 0o700); err != nil {
		return "", err
	}
	name := path.Join(dir, "torn-"+s.now().UTC().Format("20060102T150405.000000000")+lineSuffix)
	file, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, tail)
	err = errors.Join(err, s.disk.flush(file), file.Close(), flushDirNamed(s.root, s.disk, dir))
	return name, err
}
