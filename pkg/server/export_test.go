package server

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// Do runs a call without a transport.
func (s *Server) Do(ctx context.Context, r hooks.Request) hooks.Result { return s.engine.Do(ctx, r) }
