package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// mendTail deals with a last line that has no newline, which a crash in the middle of a write leaves. The lock is
// held, so nobody is still writing it. A line that is whole gets its newline. Anything else is moved to a file of its
// own under state/, flushed there before it is cut off here.
func (s *File) mendTail(size int64) error {
	line, err := s.tail(size)
	if err != nil {
		return fmt.Errorf("%w: read the end of %s: %w", segment.ErrUnavailable, s.Name, err)
	}
	if _, err := record.Parse(line); err == nil {
		return s.endLine(size)
	}
	return s.cutTail(size)
}

// tail is what stands behind the last whole line; nil if it is longer than any line.
func (s *File) tail(size int64) ([]byte, error) {
	if size-s.End > segment.MaxLine {
		return nil, nil
	}
	return io.ReadAll(io.NewSectionReader(s.File, s.End, size-s.End))
}

// cutTail moves what stands behind the last whole line to a file of its own.
func (s *File) cutTail(size int64) error {
	aside, err := s.setAside(io.NewSectionReader(s.File, s.End, size-s.End))
	if err != nil {
		return fmt.Errorf("%w: set the torn end of %s aside: %w", segment.ErrUnavailable, s.Name, err)
	}
	if err := s.Disk.Truncate(s.File, s.End); err != nil {
		return fmt.Errorf("%w: cut the torn end off %s: %w", segment.ErrUnavailable, s.Name, err)
	}
	s.Aside = SetAside{Segment: s.Name, Offset: s.End, Bytes: size - s.End, File: aside}
	s.Log.Warn().Str("segment", s.Name).Int64("offset", s.End).Int64("bytes", size-s.End).Str("set_aside", aside).
		Msg("the last ledger line was torn by a crash and has been set aside")
	return nil
}

// endLine gives the last line its newline and reads all again.
func (s *File) endLine(size int64) error {
	if n, err := s.Disk.Write(s.File, []byte("\n")); err != nil || n != 1 {
		return fmt.Errorf("%w: end the last line of %s: %w", segment.ErrUnavailable, s.Name, errors.Join(err, io.ErrShortWrite))
	}
	s.Log.Warn().Str("segment", s.Name).Msg("the last ledger line was whole but had no newline; it has one now")
	return s.readAll(size + 1)
}

func (s *File) setAside(tail io.Reader) (string, error) {
	dir := path.Join(segment.Home, segment.StateDir)
	if err := segment.MakeDir(s.Top.Root(), dir, 0o700); err != nil {
		return "", err
	}
	name := path.Join(dir, "torn-"+s.Now().UTC().Format("20060102T150405.000000000")+segment.LineSuffix)
	file, err := s.Top.Root().OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, tail)
	err = errors.Join(err, s.Disk.Flush(file), file.Close(), segment.FlushDir(s.Top.Root(), s.Disk, dir))
	return name, err
}

// Repair leaves alone what cannot be opened as a segment, and a last line that lacks only its newline.
func (s *File) Repair() error {
	file, info, err := durable.OpenRegularIn(s.Top.Root(), s.Name, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open %s for writing: %w", s.Name, err)
	}
	if err != nil {
		return nil // a problem for Verify to report
	}
	s.File, s.identity = file, info
	if err := s.readAll(info.Size()); err != nil {
		return err
	}
	line, err := s.tail(info.Size())
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", s.Name, err)
	}
	if line != nil && (record.IsWhole(segment.TrimEnd(line)) || len(bytes.TrimSpace(line)) == 0) {
		return nil
	}
	return s.cutTail(info.Size())
}

// SetAside is the torn end of a segment that was moved to a file of its own.
type SetAside struct {
	Segment string `json:"segment"` // relative to the workspace, as File
	Offset  int64  `json:"offset"`  // where it began
	Bytes   int64  `json:"bytes"`
	File    string `json:"file"`
}
