package server

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// IntentStep is a step in an intent's life that an operator makes.
type IntentStep struct {
	IntentID string
	Status   intent.Status
	// Note is for the history; "" is none.
	Note string
	// SkipVerify makes an intent done without its verify commands.
	SkipVerify bool
	// Progress gets what the verify commands print; nil means that nobody
	// listens.
	Progress func(message string)
}

// StepTaken is what became of an IntentStep.
type StepTaken struct {
	IntentID string `json:"intent_id"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	From     string `json:"from"`
	Verified []struct {
		Command  string `json:"command"`
		RecordID string `json:"record_id"`
	} `json:"verified"`
	RecordID string `json:"record_id"`
}

// UpdateIntent takes a step as a call of the operator. An error is a
// *refusal.Refusal where the step was refused: VERIFY_FAILED has the output of
// the command that did not pass.
func (s *Server) UpdateIntent(ctx context.Context, step IntentStep) (taken StepTaken, err error) {
	engine := s.operatorEngine()
	deps := *s.deps
	deps.Do = engine.Do
	for _, tool := range tools.Operator(&deps, step.SkipVerify) {
		if err := engine.AddTool(tool); err != nil {
			return taken, err
		}
	}
	engine.AddPostHook(s.maps)
	engine.AddPostHook(s.asks)
	arguments := map[string]string{"intent_id": step.IntentID, "status": string(step.Status)}
	if step.Note != "" {
		arguments["note"] = step.Note
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return taken, err
	}
	request := hooks.Request{Tool: "update_intent", Arguments: raw, Operator: true}
	if step.Progress != nil {
		request.Progress = func(message string, _, _ float64) { step.Progress(message) }
	}
	result := engine.Do(ctx, request)
	if result.Refusal != nil {
		return taken, result.Refusal
	}
	return taken, json.Unmarshal(result.Structured, &taken)
}

// operatorEngine judges calls of the operator, who has seen what they do.
func (s *Server) operatorEngine() *hooks.Engine {
	engine := hooks.NewEngine(s.sessions, s.recorder, nil, s.log)
	gate.RegisterOperator(engine, s.intents, s.ledger, s.policy)
	return engine
}
