package server

import "github.com/intentgov/orchestra-mcp/pkg/tools"

// Behind has calls go to other servers, as far as a test plays them.
func (s *Server) Behind(o tools.UpstreamOptions) (*tools.Upstreams, error) {
	o.Commands = s.tools.Commands
	u, err := tools.NewUpstreams(o)
	if err != nil {
		return nil, err
	}
	s.engine.Beside, s.engine.Missing = u.Tool, u.Missing
	for _, t := range u.Faces() {
		if err := s.engine.AddTool(t); err != nil {
			return nil, err
		}
	}
	return u, nil
}
