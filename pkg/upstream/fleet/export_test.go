package fleet

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

// Request sends a server what it is told, whatever is trusted.
func (f *Fleet) Request(ctx context.Context, name, method, params string) (json.RawMessage, error) {
	s := f.byName[name]
	result, err := s.request(ctx, method, json.RawMessage(params), mcpclient.Handlers{}, func() error { return nil })
	if err != nil {
		return nil, s.fail(err)
	}
	return result, nil
}

// Directory is where the program of a server starts.
func (f *Fleet) Directory(name string) string { return f.placeOf(name) + "/data" }
