package live

import (
	"errors"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"io"
	"os"
	"path"
)

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
		return fmt.Errorf("%w: %w", segment.ErrUnavailable, err)
	}
	return nil
}

// writeAgain makes the system write the lines from an offset on once more. They are the same bytes, so that a crash in
// between changes nothing.
func (s *File) writeAgain(from int64) (err error) {
	file, info, err := segment.OpenRegular(s.Root, s.Name, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("%w: %w", segment.ErrUnavailable, err)
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
