package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"
)

// Config is what a [Server] offers.
type Config struct {
	// Name and Version identify the server to clients; both are required.
	Name, Version string
	// Title is shown to people.
	Title string
	// Instructions is asked at initialize and at server/discover for the text that tells the model how to use the
	// server. It must be quick. Nil means none.
	Instructions func() string
	// Tools are listed in this order, the same for every caller.
	Tools []Tool
	// Handler runs the calls of all tools; required if there are any.
	Handler ToolHandler
	// Prompts, Resources and ResourceTemplates are listed in order of name.
	Prompts           []Prompt
	Resources         []Resource
	ResourceTemplates []ResourceTemplate
	// Complete returns all values that fit, best first; the client is sent at most 100. Nil means no completion.
	Complete func(ctx context.Context, caller Caller, request CompletionRequest) ([]string, error)
	// Disconnected, if not nil, is called when a [Caller.Connection] has ended: no call will bear it again.
	Disconnected func(connection string)
	// Busy, if not nil, tells whether something runs for a [Caller.Connection] that has no call in flight: an HTTP
	// session that is busy never makes room for another. It must be quick.
	Busy func(connection string) bool
	// Agent, if not nil, tells by the arguments of a call which of the agents behind one principal makes it, where
	// the protocol does not say (HTTP in 2026-07-28): none of them may use all that the principal may. "" is an agent
	// that cannot be told.
	Agent func(arguments json.RawMessage) string
	// Logger gets what an operator should know; never what was in a message.
	Logger zerolog.Logger
}

// Server serves one set of tools, prompts and resources over any number of connections. Its methods are safe for
// concurrent use.
type Server struct {
	config Config
	log    zerolog.Logger
	tools  map[string]Tool
	offer  offer
}

// New makes a server, or says what is wrong with its configuration.
func New(config Config) (*Server, error) {
	if config.Name == "" || config.Version == "" {
		return nil, errors.New("mcpbridge: the server needs a name and a version")
	}
	s := &Server{config: config, log: config.Logger, tools: make(map[string]Tool)}
	for _, tool := range config.Tools {
		if _, taken := s.tools[tool.Name]; taken {
			return nil, fmt.Errorf("mcpbridge: tool %q is there already; tool names must be unique", tool.Name)
		}
		if err := s.checkTool(tool); err != nil {
			return nil, err
		}
		s.tools[tool.Name] = tool
	}
	var err error
	s.offer, err = offering(config)
	return s, err
}

func (s *Server) checkTool(tool Tool) error {
	switch {
	case tool.Name == "":
		return errors.New("mcpbridge: a tool needs a name")
	case s.config.Handler == nil:
		return fmt.Errorf("mcpbridge: tool %q has no handler; set Config.Handler", tool.Name)
	case tool.InputSchema == nil:
		return fmt.Errorf("mcpbridge: tool %q has no input schema", tool.Name)
	}
	return nil
}

// listed makes the list of tools at the first call: their schemas are many.
func listed(tools []Tool) func() ([]mcp.Tool, error) {
	return sync.OnceValues(func() ([]mcp.Tool, error) {
		list := []mcp.Tool{}
		for _, tool := range tools {
			definition, err := tool.definition()
			if err != nil {
				return nil, fmt.Errorf("tool %q: %w", tool.Name, err)
			}
			list = append(list, definition)
		}
		return list, nil
	})
}

func (t Tool) definition() (mcp.Tool, error) {
	d := mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, RawInputSchema: t.InputSchema(),
		Annotations: mcp.ToolAnnotation{
			Title: t.Title, ReadOnlyHint: &t.ReadOnly, DestructiveHint: &t.Destructive, IdempotentHint: &t.Idempotent, OpenWorldHint: &t.OpenWorld,
		},
	}
	if err := checkObjectSchema(d.RawInputSchema); err != nil {
		return d, fmt.Errorf("input schema: %w", err)
	}
	if bytes.Contains(d.RawInputSchema, []byte(`"x-mcp-header"`)) {
		return d, errors.New("it asks for arguments in headers (x-mcp-header), which the bridge does not check; leave it out")
	}
	if t.OutputSchema == nil {
		return d, nil
	}
	d.RawOutputSchema = t.OutputSchema()
	if err := checkObjectSchema(d.RawOutputSchema); err != nil {
		return d, fmt.Errorf("output schema: %w", err)
	}
	return d, nil
}

// ProtocolRevisions lists the revisions of the protocol that are spoken, the newest first.
func ProtocolRevisions() []string { return slices.Clone(mcp.ValidProtocolVersions) }

// checkObjectSchema holds a schema to what 2025-11-25 requires of its root; clients drop tools, or the whole list,
// over anything else.
func checkObjectSchema(schema json.RawMessage) error {
	var root struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("not a JSON object: %v", err)
	}
	if root.Type != "object" {
		return fmt.Errorf(`its root must have "type": "object", not %q`, root.Type)
	}
	return nil
}
