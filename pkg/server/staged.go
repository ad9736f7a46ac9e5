package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// What commands did on layers of their own and nobody has taken over yet, for operators.
type (
	StagedCommand = tools.StagedCommand
	StagedChange  = tools.StagedChange
	StagedResult  = tools.StagedResult
)

// ErrNotStaged: nothing is kept under an id; it was taken over or thrown away, or its time is over.
var ErrNotStaged = staging.ErrUnknown

// Staged lists what is kept, the oldest first.
func (s *Server) Staged() ([]StagedCommand, error) { return s.tools.Commands.Staged() }

// ShowStaged is what a kept command would change now. Errors: ErrNotStaged.
func (s *Server) ShowStaged(id string) (StagedCommand, []StagedChange, error) {
	return s.tools.Commands.ShowStaged(id)
}

// DiscardStaged throws away what a command did. Errors: ErrNotStaged.
func (s *Server) DiscardStaged(id string) error { return s.tools.Commands.DiscardStaged(id) }

// CommitStaged takes over what a command did, as a call of the operator under the intent that it ran under. An error is a
// *refusal.Refusal where it was refused.
func (s *Server) CommitStaged(ctx context.Context, id string) (taken StagedResult, err error) {
	staged, _, err := s.ShowStaged(id)
	if err != nil {
		return taken, err
	}
	engine := s.operatorEngine(s.maps)
	arguments, err := hooks.MakeArguments(map[string]string{"staged_id": id, "intent_id": staged.Intent})
	for _, tool := range tools.Operator(s.tools, engine, false) {
		err = errors.Join(err, engine.AddTool(tool))
	}
	if err != nil {
		return taken, err
	}
	result := engine.Do(ctx, hooks.Request{Tool: "commit_staged", Arguments: arguments, Operator: true})
	if result.Refusal != nil {
		return taken, result.Refusal
	}
	return taken, json.Unmarshal(result.Structured, &taken)
}
