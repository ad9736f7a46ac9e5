package locate

import (
	"context"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"os"
	"slices"
)

// Heads are the lines that the next record would follow, sorted: those that no line of the files that are appended to
// follows. It reads no archive.
func Heads(ctx context.Context, root *os.Root) ([]record.Hash, error) {
	root, leave, err := Stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	places, _, err := segment.List(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("find the heads of the ledger: %w", err)
	}
	var heads []record.Hash
	for _, place := range places {
		if place.Archived() {
			continue
		}
		file, size, err := place.Open(root)
		if err != nil {
			return nil, fmt.Errorf("find the heads of the ledger: %w", err)
		}
		found, err := segment.FindHeads(file, size, func(segment.Line, record.Hash, record.LineKind) {})
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("find the heads of the ledger: %w", err)
		}
		heads = append(heads, found...)
	}
	slices.SortFunc(heads, record.CompareHash)
	return slices.Compact(heads), nil
}

// EachLine gives every line that is not blank, segment by segment, in the order in which they stand. Lines that stand
// there twice come twice. It costs a hash for each, and no parsing.
func EachLine(ctx context.Context, root *os.Root, visit func(segment.RawLine) error) ([]segment.Problem, error) {
	root, leave, err := Stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	return segment.EachLine(ctx, root, visit)
}
