package segment

import (
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"io"
	"maps"
	"slices"
)

// HeadFinder finds the heads of lines that come in any order, with duplicates. In a chain it holds one line at a time,
// however long the chain is.
type HeadFinder map[record.Hash]struct{}

// Take holds the line until one that follows it comes. A line whose follower came before it stays, as one that comes
// twice may: candidates, which FindHeads sorts out.
func (h HeadFinder) Take(id record.Hash, prev []record.Hash) {
	for _, p := range prev {
		delete(h, p)
	}
	h[id] = struct{}{}
}

// FindHeads gives the sorted heads of the first size bytes, and calls each with each line that is whole and its kind.
// Where there is more than one candidate all is read twice.
func FindHeads(file io.ReaderAt, size int64, each func(Line, record.Hash, record.LineKind)) ([]record.Hash, error) {
	found := HeadFinder{}
	err := Forward(io.NewSectionReader(file, 0, size), 0, func(line Line) error {
		id, prev, kind := ReadChain(line)
		if line.Torn {
			return nil
		}
		if kind == record.LineRecord || kind == record.LineForeign {
			found.Take(id, prev)
		}
		each(line, id, kind)
		return nil
	})
	if err == nil && len(found) > 1 {
		err = Forward(io.NewSectionReader(file, 0, size), 0, func(line Line) error {
			if line.Torn || line.TooLong {
				return nil
			}
			if prev, ok := record.ParsePrev(line.Data); ok {
				for _, p := range prev {
					delete(found, p)
				}
			}
			return nil
		})
	}
	return slices.SortedFunc(maps.Keys(found), record.CompareHash), err
}

// ReadChain gives a line's identity and whom it follows. A line that is too long is garbage to the chain.
func ReadChain(line Line) (record.Hash, []record.Hash, record.LineKind) {
	if line.TooLong {
		return record.Hash{}, nil, record.LineGarbage
	}
	prev, kind := record.Classify(line.Data)
	return record.Identity(line.Data), prev, kind
}
