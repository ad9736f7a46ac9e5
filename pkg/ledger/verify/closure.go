package verify

import (
	"context"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"os"
)

// Closure calls visit for each line that is one of the heads or precedes one, in the order of EachLine, each once. It
// returns those heads that the ledger does not have. It holds the chain of the whole ledger.
func Closure(ctx context.Context, root *os.Root, heads []record.Hash, visit func(segment.RawLine) error) (missing []record.Hash, err error) {
	chain := newLineage()
	if _, err := locate.EachLine(ctx, root, func(line segment.RawLine) error {
		if prev, kind := record.Classify(line.Data); line.Whole {
			chain.add(line.Hash, prev, kind == record.LineRecord)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var from []int32
	for _, head := range heads {
		if chain.has(head) {
			from = append(from, chain.number(head))
		} else {
			missing = append(missing, head)
		}
	}
	wanted := make([]bool, len(chain.nodes))
	chain.closure(from, wanted)
	_, err = locate.EachLine(ctx, root, func(line segment.RawLine) error {
		n, known := chain.index[line.Hash]
		if !line.Whole || !known || !wanted[n] {
			return nil
		}
		wanted[n] = false
		return visit(line)
	})
	if err != nil {
		return nil, fmt.Errorf("read the lines before %d heads: %w", len(heads), err)
	}
	return missing, nil
}
