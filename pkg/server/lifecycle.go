package server

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
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
	// Progress gets what the verify commands print; nil means that nobody listens.
	Progress func(message string)
}

// StepTaken is what became of an IntentStep.
type StepTaken = tools.StepTaken

// UpdateIntent takes a step as a call of the operator. An error is a *refusal.Refusal where the step was refused:
// VERIFY_FAILED has the output of the command that did not pass.
func (s *Server) UpdateIntent(ctx context.Context, step IntentStep) (taken StepTaken, err error) {
	engine := s.intentsEngine()
	for _, tool := range tools.Operator(s.tools, engine, step.SkipVerify) {
		if err := engine.AddTool(tool); err != nil {
			return taken, err
		}
	}
	arguments := map[string]string{"intent_id": step.IntentID, "status": string(step.Status)}
	if step.Note != "" {
		arguments["note"] = step.Note
	}
	request := hooks.Request{Tool: "update_intent", Operator: true}
	if request.Arguments, err = hooks.MakeArguments(arguments); err != nil {
		return taken, err
	}
	if step.Progress != nil {
		request.Progress = func(message string, _, _ float64) { step.Progress(message) }
	}
	result := engine.Do(ctx, request)
	if result.Refusal != nil {
		return taken, result.Refusal
	}
	return taken, json.Unmarshal(result.Structured, &taken)
}

// AddIntent adds an intent as a call of the operator, and gives its id: the intent's own, or the next free one. An error is a
// *refusal.Refusal where it was refused.
func (s *Server) AddIntent(ctx context.Context, in intent.Intent) (id string, err error) {
	return s.editIntents(ctx, tools.AddIntent(s.intents, in))
}

// AddScope adds globs to the scope of an intent, as AddIntent adds one.
func (s *Server) AddScope(ctx context.Context, id string, globs []string) error {
	_, err := s.editIntents(ctx, tools.AddScope(s.intents, id, globs))
	return err
}

// EditIntent changes what an intent says, as AddIntent adds one. Where the intent is no longer the one that the edit was made
// from, the refusal is STALE_FILE.
func (s *Server) EditIntent(ctx context.Context, id string, edit intent.Edit) error {
	_, err := s.editIntents(ctx, tools.EditIntent(s.intents, id, edit))
	return err
}

func (s *Server) editIntents(ctx context.Context, tool hooks.Tool) (id string, err error) {
	result := s.intentsEngine().Run(ctx, tool, hooks.Request{Tool: tool.Spec().Name, Arguments: hooks.NoArguments(), Operator: true})
	if result.Refusal != nil {
		return "", result.Refusal
	}
	var edited struct {
		IntentID string `json:"intent_id"`
	}
	err = json.Unmarshal(result.Structured, &edited)
	return edited.IntentID, err
}

// operatorEngine judges calls of the operator, who has seen what they do, and shows their outcomes to observers.
func (s *Server) operatorEngine(observers ...hooks.PostHook) *hooks.Engine {
	return hooks.NewEngine(hooks.Options{Sessions: s.sessions, Recorder: s.recorder, Logger: s.log, Gate: s.operator, Observers: observers})
}

// intentsEngine is operatorEngine for what changes the intents: the map and the grants follow.
func (s *Server) intentsEngine() *hooks.Engine { return s.operatorEngine(s.maps, s.asks) }
