package mend

import (
	"bytes"
	"context"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/live"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"os"
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
