package server

import (
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// callerOf is who makes a call, with the model that the call, the client or its environment names.
func (s *Server) callerOf(call mcpbridge.Call) session.Caller {
	c := call.Caller
	caller := session.Caller{Connection: c.Connection, Principal: c.Principal, ClientName: c.Client.Name, ClientVersion: c.Client.Version}
	switch {
	case call.Model != "":
		caller.ModelID, caller.ModelSource = call.Model, session.ModelOfMeta
	case c.Client.Model != "":
		caller.ModelID, caller.ModelSource = c.Client.Model, session.ModelOfClient
	case s.options.ModelOf != nil:
		if caller.ModelID = s.options.ModelOf(c.Client.Name); caller.ModelID != "" {
			caller.ModelSource = session.ModelOfEnvironment
		}
	}
	return caller
}
