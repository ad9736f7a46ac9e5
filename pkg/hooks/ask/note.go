package ask

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// noteOf says in words what becomes of a file.
func noteOf(f *hooks.FileEffect) string {
	switch f.Op {
	case change.Created:
		return fmt.Sprintf("a new file of %d bytes", len(f.After.Bytes))
	case change.Deleted:
		return fmt.Sprintf("deleted, with its %d bytes", len(f.Before.Bytes))
	case change.Moved:
		return fmt.Sprintf("moved; %d bytes become %d", len(f.Before.Bytes), len(f.After.Bytes))
	}
	return fmt.Sprintf("%d bytes become %d", len(f.Before.Bytes), len(f.After.Bytes))
}
