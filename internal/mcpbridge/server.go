package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"
)

// Config is what a [Server] offers.
type Config struct {
	// Name and Version identify the server to clients; both are required.
	Name, Version string
	// Title is shown to people.
	Title string
	// Instructions is asked at initialize and at server/discover for the text
	// that tells the model how to use the server. It must be quick. Nil means
	// none.
	Instructions func() string
	// Tools are listed in this order, the same for every caller.
	Tools []Tool
	// Handler runs the calls of all tools; required if there are any.
	Handler ToolHandler
	// Prompts, Resources and ResourceTemplates are listed in order of name.
	Prompts           []Prompt
	Resources         []Resource
	ResourceTemplates []ResourceTemplate
	// Complete returns all values that fit, best first; the client is sent at
	// most 100. Nil means no completion.
	Complete func(ctx context.Context, caller Caller, request CompletionRequest) ([]string, error)
	// Disconnected, if not nil, is called when a [Caller.Connection] has ended:
	// no call will bear it again.
	Disconnected func(connection string)
	// Busy, if not nil, tells whether something runs for a [Caller.Connection]
	// that has no call in flight: an HTTP session that is busy never makes room
	// for another. It must be quick.
	Busy func(connection string) bool
	// Agent, if not nil, tells by the arguments of a call which of the agents
	// behind one principal makes it, where the protocol does not say (HTTP in
	// 2026-07-28): none of them may use all that the principal may. "" is an
	// agent that cannot be told.
	Agent func(arguments json.RawMessage) string
	// Logger gets what an operator should know; never what was in a message.
	Logger zerolog.Logger
}

// Server serves one set of tools, prompts and resources over any number of
// connections. Its methods are safe for concurrent use, except that AddTool
// must not follow the start of serving.
type Server struct {
	config Config
	engine *server.MCPServer
	log    zerolog.Logger

	mu        sync.RWMutex
	toolOrder map[string]int
	readers   map[string]bool // tools that only read
	outside   map[string]bool // tools that reach out of the server
}

// New makes a server, or says what is wrong with its configuration.
func New(config Config) (*Server, error) {
	if config.Name == "" || config.Version == "" {
		return nil, errors.New("mcpbridge: the server needs a name and a version")
	}
	s := &Server{config: config, log: config.Logger, toolOrder: make(map[string]int), readers: make(map[string]bool), outside: make(map[string]bool)}
	s.engine = s.newEngine()
	for _, tool := range config.Tools {
		if err := s.AddTool(tool); err != nil {
			return nil, err
		}
	}
	if err := s.addPrompts(config.Prompts); err != nil {
		return nil, err
	}
	if err := s.addResources(config.Resources); err != nil {
		return nil, err
	}
	if err := s.addResourceTemplates(config.ResourceTemplates); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) onlyReads(tool string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.readers[tool]
}

func (s *Server) reachesOut(tool string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.outside[tool]
}

// AddTool adds a tool behind those that are there. It is for embedders, before
// serving starts: clients are promised a list that does not change.
func (s *Server) AddTool(tool Tool) error {
	if err := s.checkTool(tool); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.toolOrder[tool.Name]; taken {
		return fmt.Errorf("mcpbridge: tool %q is there already; tool names must be unique", tool.Name)
	}
	s.readers[tool.Name] = tool.ReadOnly
	s.outside[tool.Name] = tool.OpenWorld
	s.toolOrder[tool.Name] = len(s.toolOrder)
	s.engine.AddTool(engineTool(tool), s.callTool)
	return nil
}

func (s *Server) checkTool(tool Tool) error {
	if tool.Name == "" {
		return errors.New("mcpbridge: a tool needs a name")
	}
	if s.config.Handler == nil {
		return fmt.Errorf("mcpbridge: tool %q has no handler; set Config.Handler", tool.Name)
	}
	if err := checkObjectSchema(tool.InputSchema); err != nil {
		return fmt.Errorf("mcpbridge: input schema of tool %q: %w", tool.Name, err)
	}
	if bytes.Contains(tool.InputSchema, []byte(`"x-mcp-header"`)) {
		return fmt.Errorf("mcpbridge: tool %q asks for arguments in headers (x-mcp-header), which the bridge does not check; leave it out", tool.Name)
	}
	if tool.OutputSchema != nil {
		if err := checkObjectSchema(tool.OutputSchema); err != nil {
			return fmt.Errorf("mcpbridge: output schema of tool %q: %w", tool.Name, err)
		}
	}
	return nil
}

// checkObjectSchema holds a schema to what 2025-11-25 requires of its root;
// clients drop tools, or the whole list, over anything else.
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

// knowsTool tells whether a call of that name can be run.
func (s *Server) knowsTool(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.toolOrder[name]
	return ok
}
