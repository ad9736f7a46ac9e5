package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// SetAside is the torn end of a segment that was moved to a file of its own.
type SetAside struct {
	Segment string `json:"segment"` // relative to the workspace, as File
	Offset  int64  `json:"offset"`  // where it began
	Bytes   int64  `json:"bytes"`
	File    string `json:"file"`
}

// Repair sets aside the end of each segment whose last line is torn: without newline, and not whole. The next append to
// that segment would do the same. It changes nothing else: a line in the middle that is not whole was not left by a
// crash, and what to do about it is for a person to say. What it did is returned also with an error.
func Repair(ctx context.Context, root *os.Root) ([]SetAside, error) {
	if _, err := homeInfo(root); err != nil {
		return nil, err
	}
	root, leave, err := stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	unlock, err := lockHome(ctx, root, true, repairLockWait)
	if err != nil {
		return nil, fmt.Errorf("repair the ledger: %w", err)
	}
	defer unlock()
	names, err := segmentNames(root)
	if err != nil {
		return nil, fmt.Errorf("repair the ledger: %w", err)
	}
	var done []SetAside
	for _, name := range names {
		s := newSegment(root, path.Join(home, name))
		err := s.repair()
		s.close()
		if err != nil {
			return done, fmt.Errorf("repair the ledger: %w", err)
		}
		if s.aside != (SetAside{}) {
			done = append(done, s.aside)
		}
	}
	return done, ctx.Err()
}

const repairLockWait = 5 * time.Second

// repair leaves alone what cannot be opened as a segment, and a last line that lacks only its newline.
func (s *segment) repair() error {
	file, info, err := openRegular(s.root, s.name, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open %s for writing: %w", s.name, err)
	}
	if err != nil {
		return nil // a problem for Verify to report
	}
	s.file, s.identity = file, info
	if err := s.readAll(info.Size()); err != nil {
		return err
	}
	tail := io.NewSectionReader(s.file, s.end, info.Size()-s.end)
	if tail.Size() == 0 {
		return nil
	}
	if tail.Size() <= maxLineToRead {
		line, err := io.ReadAll(tail)
		if err != nil {
			return fmt.Errorf("read the end of %s: %w", s.name, err)
		}
		if isWhole(trimEnd(line)) || len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		tail.Seek(0, io.SeekStart)
	}
	return s.cutTail(tail, info.Size())
}
