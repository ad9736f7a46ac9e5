package tools

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// The operator's own edits of the intents go the way of an agent's proposals,
// without a question: journal, edit, record. No client can name these tools.

// AddIntent adds an intent; without an id it gets the next free one.
func AddIntent(d *Deps, in intent.Intent) hooks.Tool {
	return newProposing(d, operatorSpec("add_intent", "Add an intent"), func(*hooks.Call, hooks.Common) (*proposal, error) {
		plan, id, err := d.Intents.PlanAdd(in)
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
func AddScope(d *Deps, id string, globs []string) hooks.Tool {
	return newProposing(d, operatorSpec("add_scope", "Widen a scope"), func(*hooks.Call, hooks.Common) (*proposal, error) {
		plan, err := d.Intents.PlanScope(id, globs)
		if err != nil {
			return nil, lifecycleProblem(err)
		}
		return &proposal{plan: plan, intentID: id, note: lifecycle(id, map[string]any{"scope_added": globs}), done: "Added to " + id + "."}, nil
	})
}

func operatorSpec(name, title string) hooks.Spec {
	return hooks.Spec{Name: name, Title: title, Class: hooks.Governance, InputSchema: input(nil, schema{})}
}
