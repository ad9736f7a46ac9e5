package server

import (
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/presence"
)

// presenceOf is the mark by which `status` finds this process.
type presenceOf struct {
	id, transport, address string

	once sync.Once
	mark *presence.Mark
}

// appear marks this process as one that serves a client, at the first call of a tool: a server that nobody calls makes
// nothing. In a workspace that is not initialised there is no place for a mark.
func (s *Server) appear() {
	if s.presence.transport == "" {
		return // nobody is served
	}
	s.presence.once.Do(func() {
		state, err := s.workspace.State()
		if err != nil {
			return
		}
		defer state.Close()
		s.presence.mark, err = presence.Register(state, presence.Server{
			ID: s.presence.id, Transport: s.presence.transport, Address: s.presence.address, Version: s.options.Version,
			StartedAt: s.options.Clock().UTC(),
		})
		if err == nil && s.options.UserDir != "" {
			err = presence.Remember(s.options.UserDir, s.workspace.Dir())
		}
		if err != nil {
			s.log.Info().Err(err).Msg("this server is not shown by orchestra-mcp status")
		}
	})
}

func (p *presenceOf) end() {
	p.once.Do(func() {})
	p.mark.Remove()
}
