package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
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

// EditIntent makes an intent say what an edit says of it, whatever its status.
func EditIntent(intents *intent.Store, id string, e intent.Edit) hooks.Tool {
	return proposing(intents, hooks.Spec{Name: "edit_intent"}, func(*hooks.Call, struct{}) (*proposal, error) {
		_, was, err := declaredIntent(intents, id)
		if err != nil {
			return nil, err
		}
		plan, err := intents.PlanEdit(id, e)
		if was.Version() != e.Version || errors.Is(err, intent.ErrChanged) {
			return nil, refusal.AtPath(refusal.StaleFile, intent.FilePath, "%s was changed in active_intents.yaml since this edit of it was begun.", id)
		}
		if err != nil {
			return nil, lifecycleProblem(err)
		}
		is := e.Applied(*was)
		return &proposal{plan: plan, intentID: id, note: lifecycle(id, editDetail(was, &is)), done: "Edited " + id + "."}, nil
	})
}

// editDetail says which fields of an intent differ, and in short how they read before and after.
func editDetail(was, is *intent.Intent) map[string]any {
	old, now := jsonFields(was), jsonFields(is)
	for name := range maps.Clone(old) {
		if reflect.DeepEqual(old[name], now[name]) {
			delete(old, name)
			delete(now, name)
		}
	}
	names := slices.Collect(maps.Keys(old))
	for name := range now {
		if _, both := old[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return map[string]any{"edited": names, "before": shortened(old), "after": shortened(now)}
}

func jsonFields(in *intent.Intent) (fields map[string]any) {
	text, _ := json.Marshal(in) // an intent always encodes
	_ = json.Unmarshal(text, &fields)
	return fields
}

const (
	detailText = 200 // bytes of a text in a record's detail
	detailList = 20  // entries of a list
)

// shortened bounds what JSON decodes to.
func shortened(value any) any {
	switch v := value.(type) {
	case string:
		return clip(v, detailText)
	case map[string]any:
		for name := range v {
			v[name] = shortened(v[name])
		}
	case []any:
		more := len(v) - detailList
		if more > 0 {
			v = v[:detailList]
		}
		for i := range v {
			v[i] = shortened(v[i])
		}
		if more > 0 {
			v = append(v, fmt.Sprintf("and %d more", more))
		}
		return v
	}
	return value
}
