// Package mend changes the ledger's files where a person asks for it: it sets torn ends aside, puts lines back and resolves
// the conflicts that git left.
//
// It promises that no line of a record is dropped or changed: what goes are conflict markers, blank lines, lines that stand
// there twice, and what a crash tore, which is kept in a file of its own. Each file is replaced as a whole and is on disk
// when a function returns. It does not decide what to do with a line in the middle that is none: it says where that is.
package mend

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/live"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// SetAside is the torn end of a segment that was moved to a file of its own.
type SetAside = live.SetAside

// Repair sets aside the end of each segment whose last line is torn: without newline, and not whole. The next append to
// that segment would do the same. It changes nothing else: a line in the middle that is not whole was not left by a
// crash, and what to do about it is for a person to say. What it did is returned also with an error.
func Repair(ctx context.Context, root *os.Root) ([]live.SetAside, error) {
	root, release, err := lock(ctx, root, "repair the ledger")
	if err != nil {
		return nil, err
	}
	defer release()
	names, err := segment.SegmentNames(root)
	if err != nil {
		return nil, fmt.Errorf("repair the ledger: %w", err)
	}
	var done []live.SetAside
	for _, name := range names {
		s := live.New(root, path.Join(segment.Home, name))
		err := s.Repair()
		s.Close()
		if err != nil {
			return done, fmt.Errorf("repair the ledger: %w", err)
		}
		if s.Aside != (live.SetAside{}) {
			done = append(done, s.Aside)
		}
	}
	return done, ctx.Err()
}

// lock finds the ledger of a workspace, and keeps everybody from writing to it until release.
func lock(ctx context.Context, workspace *os.Root, what string) (root *os.Root, release func(), err error) {
	if _, err := segment.HomeInfo(workspace); err != nil {
		return nil, nil, err
	}
	root, leave, err := locate.Stands(workspace)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := segment.Lock(ctx, root, true, segment.MendLockWait)
	if err != nil {
		leave()
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	return root, func() { unlock(); leave() }, nil
}

// Line is a line that the ledger once had.
type Line struct {
	Segment string // that it stood in, relative to .orchestration
	Data    []byte // without the newline
}

// PutBack appends lines byte for byte, so that they have the identity that they had, each to the segment that it came
// from, and to the single file where that is not one to append to. Order and duplicates mean nothing, so it does not
// look whether a line is there. The lines are on disk when it returns.
func PutBack(ctx context.Context, root *os.Root, lines []Line) error {
	root, release, err := lock(ctx, root, "put lines back")
	if err != nil {
		return err
	}
	defer release()
	bySegment := map[string][]byte{}
	for i, line := range lines {
		if !record.IsWhole(line.Data) || bytes.ContainsRune(line.Data, '\n') {
			return fmt.Errorf("put lines back: line %d of those to put back: %w", i+1, record.ErrMalformed)
		}
		name := line.Segment
		if !isLiveSegment(name) {
			name = segment.SingleName
		}
		bySegment[name] = append(append(bySegment[name], line.Data...), '\n')
	}
	for name, content := range bySegment {
		if err := live.PutBackIn(root, name, content); err != nil {
			return fmt.Errorf("put lines back: %w", err)
		}
	}
	return nil
}
