package ask

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// noteOf says in words what becomes of a file.
func noteOf(f *hooks.FileEffect) string {
	switch f.Kind {
	case hooks.Create:
		return fmt.Sprintf("a new file of %d bytes", len(f.After))
	case hooks.Delete:
		return fmt.Sprintf("deleted, with its %d bytes", len(f.Before))
	case hooks.Move:
		return fmt.Sprintf("moved; %d bytes become %d", len(f.Before), len(f.After))
	}
	return fmt.Sprintf("%d bytes become %d", len(f.Before), len(f.After))
}
