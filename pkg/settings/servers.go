package settings

import (
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// Server is another MCP server that stands behind this one.
type Server struct {
	Name      string `required:"true"`
	Command   string // a program, no shell line
	Args      []string
	URL       URL
	Env       []string
	Prefix    string // of the names of its tools; NAME_ if left out
	Mapping   string
	Effects   []mapping.Effect
	Tools     []string
	Safe      []string
	Workspace Choice `choices:"read, write"`
	Writable  []string
	Show      Choice `choices:"tools, search"`
	Findings  Choice `choices:"warn, ask, refuse"`
	Contents  bool
	Timeout   time.Duration

	line   int // in its file
	origin string
	tier   tier
}

// Upstreams are the servers as the rest of the program takes them.
func (s Settings) Upstreams() []upstream.Definition {
	var all []upstream.Definition
	for _, server := range s.Servers {
		all = append(all, server.definition())
	}
	return all
}

func (s Server) definition() upstream.Definition {
	d := upstream.Definition{
		Name: s.Name, Prefix: s.Prefix, URL: string(s.URL), Env: slices.Clone(s.Env), OfWorkspace: s.tier >= tierWorkspace, Origin: s.origin,
		Choose: slices.Clone(s.Tools), Safe: slices.Clone(s.Safe), Mapping: s.Mapping, Effects: slices.Clone(s.Effects),
		Writes: s.Workspace == Write, Writable: slices.Clone(s.Writable), Searched: s.Show == Search,
		Findings: upstream.Policy(s.Findings), Keep: s.Contents, Timeout: s.Timeout,
	}
	if s.Command != "" {
		d.Command = append([]string{s.Command}, s.Args...)
	}
	return d
}

func validServers(value any) error { return nil }
