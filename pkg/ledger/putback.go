package ledger

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/rs/zerolog"
)

// Line is a line that the ledger once had.
type Line struct {
	Segment string // that it stood in, relative to .orchestration
	Data    []byte // without the newline
}

// PutBack appends lines byte for byte, so that they have the identity that they had, each to the segment that it came
// from, and to the single file where that is not one to append to. Order and duplicates mean nothing, so it does not
// look whether a line is there. The lines are on disk when it returns.
func PutBack(ctx context.Context, root *os.Root, lines []Line) error {
	if _, err := homeInfo(root); err != nil {
		return err
	}
	root, leave, err := stands(root)
	if err != nil {
		return err
	}
	defer leave()
	unlock, err := lockHome(ctx, root, true, repairLockWait)
	if err != nil {
		return fmt.Errorf("put lines back: %w", err)
	}
	defer unlock()
	bySegment := map[string][]byte{}
	for i, line := range lines {
		if !isWhole(line.Data) || bytes.ContainsRune(line.Data, '\n') {
			return fmt.Errorf("put lines back: line %d of those to put back: %w", i+1, ErrMalformed)
		}
		name := line.Segment
		if !isLiveSegment(name) {
			name = singleName
		}
		bySegment[name] = append(append(bySegment[name], line.Data...), '\n')
	}
	for name, content := range bySegment {
		if err := putBackIn(root, name, content); err != nil {
			return fmt.Errorf("put lines back: %w", err)
		}
	}
	return nil
}

func (s *segment) putBack(content []byte) error {
	if err := s.catchUp(); err != nil {
		return err
	}
	if n, err := s.disk.write(s.file, content); err != nil || n != len(content) {
		return s.takeBack(n, len(content), err)
	}
	return s.flush()
}

// putBackIn appends whole lines to one file.
func putBackIn(root *os.Root, name string, content []byte) error {
	if len(content) == 0 {
		return nil
	}
	s := newSegment(root, path.Join(home, name))
	defer s.close()
	return s.putBack(content)
}

// newSegment is one for a single use.
func newSegment(root *os.Root, name string) *segment {
	return &segment{root: root, disk: realDisk(), log: zerolog.Nop(), now: time.Now, name: name}
}
