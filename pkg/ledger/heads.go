package ledger

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Heads are the lines that the next record would follow, sorted: those that no line of the files that are appended to
// follows. It reads no archive.
func Heads(ctx context.Context, root *os.Root) ([]Hash, error) {
	root, leave, err := stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	places, _, err := extents(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("find the heads of the ledger: %w", err)
	}
	var heads []Hash
	for _, place := range places {
		if place.archived() {
			continue
		}
		file, size, err := place.open(root)
		if err != nil {
			return nil, fmt.Errorf("find the heads of the ledger: %w", err)
		}
		found, err := findHeads(file, size, func(rawLine, digest, lineKind) {})
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("find the heads of the ledger: %w", err)
		}
		heads = append(heads, found...)
	}
	slices.SortFunc(heads, compareHash)
	return slices.Compact(heads), nil
}

// headFinder finds the heads of lines that come in any order, with duplicates. In a chain it holds one line at a time,
// however long the chain is.
type headFinder map[digest]struct{}

// take holds the line until one that follows it comes. A line whose follower came before it stays, as one that comes
// twice may: candidates, which settle sorts out.
func (h headFinder) take(id digest, prev []digest) {
	for _, p := range prev {
		delete(h, p)
	}
	h[id] = struct{}{}
}

// findHeads gives the sorted heads of the first size bytes, and calls each with each line that is whole and its kind.
// Where there is more than one candidate all is read twice.
func findHeads(file io.ReaderAt, size int64, each func(rawLine, digest, lineKind)) ([]digest, error) {
	found := headFinder{}
	err := forward(io.NewSectionReader(file, 0, size), 0, func(line rawLine) error {
		id, prev, kind := readChain(line)
		if line.torn {
			return nil
		}
		if kind == lineRecord || kind == lineForeign {
			found.take(id, prev)
		}
		each(line, id, kind)
		return nil
	})
	if err == nil && len(found) > 1 {
		err = forward(io.NewSectionReader(file, 0, size), 0, func(line rawLine) error {
			if line.torn || line.tooLong {
				return nil
			}
			if prev, ok := parsePrev(line.data); ok {
				for _, p := range prev {
					delete(found, p)
				}
			}
			return nil
		})
	}
	return slices.SortedFunc(maps.Keys(found), compareHash), err
}

// readChain gives a line's identity and whom it follows. A line that is too long is garbage to the chain.
func readChain(line rawLine) (digest, []digest, lineKind) {
	if line.tooLong {
		return digest{}, nil, lineGarbage
	}
	prev, kind := classify(line.data)
	return identity(line.data), prev, kind
}
