package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// ErrNotFound is what the reader of a resource returns, or wraps, for one that does not exist.
var ErrNotFound = mcpbridge.ErrNotFound

// additions are what an embedder offers beside its tools, behind what the server has itself.
type additions struct {
	prompts              []mcpbridge.Prompt
	resources, templates []mcpbridge.Resource
}

// AddPrompt offers a prompt of mcp-go, with what was given to MCPServer.AddPrompt for it. A call that leaves out a required
// argument does not reach it.
func (s *Server) AddPrompt(p mcpbridge.ForeignPrompt, get mcpbridge.ForeignPromptHandler) error {
	for _, other := range slices.Concat(s.prompts(), s.added.prompts) {
		if other.Name == p.Name {
			return fmt.Errorf("prompt %q is already there", p.Name)
		}
	}
	s.added.prompts = append(s.added.prompts, mcpbridge.PromptOf(p, get))
	return nil
}

// AddResource offers a resource of mcp-go, with what was given to MCPServer.AddResource for it. Who reads it has selected no
// intent and is not recorded, and what the reader opens is not judged: it must hand out nothing that .intentignore keeps secret.
func (s *Server) AddResource(r mcpbridge.ForeignResource, read mcpbridge.ForeignReader) error {
	if err := s.free(r.URI); err != nil {
		return err
	}
	s.added.resources = append(s.added.resources, mcpbridge.ResourceOf(r, read))
	return nil
}

// AddResourceTemplate is AddResource for a family of resources. The variables of its URI are in the request's arguments, each a
// list of strings; they are the client's words.
func (s *Server) AddResourceTemplate(t mcpbridge.ForeignResourceTemplate, read mcpbridge.ForeignReader) error {
	template, err := mcpbridge.ResourceTemplateOf(t, read)
	if err != nil {
		return err
	}
	if err := s.free(template.URI); err != nil {
		return err
	}
	s.added.templates = append(s.added.templates, template)
	return nil
}

// free tells whether an embedder may offer something under a URI.
func (s *Server) free(uri string) error {
	scheme, _, ok := strings.Cut(uri, ":")
	switch {
	case !ok || scheme == "":
		return fmt.Errorf("a resource needs a URI, not %q", uri)
	case strings.EqualFold(scheme, "orchestra") || strings.EqualFold(scheme, "ui"):
		return fmt.Errorf("%s: the scheme is the server's own", uri)
	}
	for _, other := range slices.Concat(s.added.resources, s.added.templates) {
		if other.URI == uri {
			return fmt.Errorf("resource %s is already there", uri)
		}
	}
	return nil
}
