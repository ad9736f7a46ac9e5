package tools

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// The operator's own edits of the intents go the way of an agent's proposals,
// without a question: journal, edit, record. No client can name these tools.

// AddIntent adds an intent; without an id it gets the next free one.
func AddIntent(intents *intent.Store, in intent.Intent) hooks.Tool {
	return proposing(intents, hooks.Spec{Name: "add_intent"}, func(*hooks.Call, struct{}) (*proposal, error) {
		plan, id, err := intents.PlanAdd(in)
		if err != nil {
			return nil, lifecycleProblem(err)
		}
		return &proposal{
			plan: plan, intentID: id,
			note: lifecycle(id, map[string]any{"added": in.Name, "owned_scope": in.OwnedScope, "status": string(in.Status)}),
			done: fmt.Sprintf("Added %s.", id),
		}, nil
	})
}

// AddScope adds globs to the scope of an intent, whatever its status.
func AddScope(intents *intent.Store, id string, globs []string) hooks.Tool {
	return proposing(intents, hooks.Spec{Name: "add_scope"}, func(*hooks.Call, struct{}) (*proposal, error) {
		plan, err := intents.PlanScope(id, globs)
		if err != nil {
			return nil, lifecycleProblem(err)
		}
		return &proposal{plan: plan, intentID: id, note: lifecycle(id, map[string]any{"scope_added": globs}), done: "Added to " + id + "."}, nil
	})
}
