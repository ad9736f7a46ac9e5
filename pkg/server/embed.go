package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// OperatorOptions are those with which `orchestra-mcp serve` serves a workspace: the operator's settings in all tiers, the
// environment's among them, and what the operator trusts. settings.Defaults() would govern by rules that nobody declared.
func OperatorOptions(dir string) (Options, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Options{}, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	user := settings.UserDir(os.Environ())
	loaded, err := settings.Load(settings.LoadOptions{
		WorkspaceRoot: root, WorkspaceDir: dir, SystemDir: settings.SystemDir, UserDir: user, Environ: os.Environ(),
	})
	if err != nil {
		return Options{}, err
	}
	return Options{Dir: dir, Settings: loaded.Settings, UserDir: user, Trusted: settings.TrustList{UserDir: user}.Of(dir), Withheld: loaded.Waiting()}, nil
}

// Do makes a call as a client's is made: through the gate, into the ledger, to its result, which is a refusal where it was
// refused. It has no place in the order of a session: calls that depend on each other are made one after the other.
func (s *Server) Do(ctx context.Context, r hooks.Request) hooks.Result { return s.engine.Do(ctx, r) }

// AddFileTool adds a tool that changes one existing text file, governed, journaled and recorded as edit_file is: change
// computes the new content from the present one. The tool's own arguments are a struct, of which the input schema is made:
// see tools.NewFileTool.
func AddFileTool[A any](s *Server, spec hooks.Spec, change func(before string, args A) (after string, err error)) error {
	tool, err := tools.NewFileTool(s.tools.Files, spec, change)
	if err != nil {
		return err
	}
	return s.AddTool(tool)
}

// Handler is a tool of mcp-go that is to be governed.
type Handler struct {
	// Tool is as mcp.NewTool made it, and Handle what was given to MCPServer.AddTool with it.
	Tool   mcpbridge.ForeignTool
	Handle mcpbridge.ForeignHandler
	// Class is what the tool does; "" counts as destructive. The tool's own annotations are not believed.
	Class hooks.Class
	// Touches names the files that a call changes, by the paths in its arguments: the gate judges them before the handler
	// runs, and what became of them is recorded after it. Nil: it changes none, and each call is recorded as that.
	Touches func(arguments map[string]any) []string
	// Asks: the tool is of no use where the client's user cannot be asked (ClientOf, Client.Ask). Clients that cannot do it
	// are told so as the protocol has it. Only for a class of hooks.Safe.
	Asks bool
}

// AddHandler governs an existing handler. It works under an intent, within its scope as far as Touches tells, and every
// call of it that is not safe is in the ledger. What a handler does by itself cannot be held as the shipped tools are: see
// tools.NewHandlerTool.
func (s *Server) AddHandler(h Handler) error {
	if h.Asks && h.Class != hooks.Safe {
		return fmt.Errorf("the tool %q cannot depend on questions: only calls that change nothing can be made again with the answer", h.Tool.Name)
	}
	definition, err := mcpbridge.DefinitionOf(h.Tool)
	if err != nil {
		return err
	}
	tool, err := tools.NewHandlerTool(s.tools.Files, tools.Handler{
		Spec: hooks.Spec{
			Name: definition.Name, Title: definition.Title, Description: definition.Description, Class: h.Class,
			InputSchema: definition.InputSchema, OutputSchema: definition.OutputSchema,
			ReadOnly: h.Class == hooks.Safe && definition.ReadOnly, Idempotent: definition.Idempotent, OpenWorld: definition.OpenWorld,
			Asks: h.Asks,
		},
		Touches: h.Touches,
		Run: func(ctx context.Context, arguments json.RawMessage) (hooks.Result, error) {
			answer, err := mcpbridge.CallForeign(ctx, h.Handle, definition.Name, arguments)
			if errors.Is(err, ErrUnanswered) {
				return hooks.Result{Text: err.Error(), Unanswered: true}, nil
			}
			if err != nil {
				return hooks.Result{}, err
			}
			result := hooks.Result{Text: answer.Text, Structured: answer.Structured, IsError: answer.IsError}
			for _, c := range answer.Content {
				data, err := base64.StdEncoding.DecodeString(c.Data)
				if err != nil {
					return result, err
				}
				result.Content = append(result.Content, hooks.Content{MIMEType: c.MIMEType, Data: data, URI: c.URI, Name: c.Name, Text: c.Text})
			}
			return result, nil
		},
	})
	if err != nil {
		return err
	}
	return s.AddTool(tool)
}
