package backtest

import (
	"context"
	"os"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
)

// Contents are those that undo has kept of a workspace, and those that git has, for Options.Content. close ends git.
func Contents(ctx context.Context, root *os.Root) (content func(id string) ([]byte, bool), close func()) {
	store, objects := kept.Open(root, kept.Options{}), blame.OpenObjects(ctx, root.Name())
	var mu sync.Mutex // git answers one at a time
	return func(id string) ([]byte, bool) {
		if content, ok := store.Get(id); ok {
			return content, true
		}
		mu.Lock()
		defer mu.Unlock()
		return objects.Content(id)
	}, objects.Close
}
