package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type getArgs struct {
	Session string `json:"session"`
}

func getActiveIntent(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "get_active_intent", Title: "Show the selected intent", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description:  "Show which intent this session works under, its scope and context, and how long the session lives.",
		InputSchema:  input(nil, schema{}),
		OutputSchema: output(sessionSchema()),
	}
	return newSimple(spec, func(ctx context.Context, call *hooks.Call, a getArgs) (*reply, error) {
		set, err := d.intents()
		if err != nil {
			return nil, err
		}
		if call.SessionErr != nil {
			return nil, gate.NoSelection(call.SessionErr, set)
		}
		in, ok := set.Get(call.Session.IntentID())
		if !ok {
			return nil, refusal.Newf(refusal.MissingOrInvalidIntent, "The selected intent %s is no longer in active_intents.yaml.", call.Session.IntentID()).
				With("available", gate.Selectable(set))
		}
		view := d.view(ctx, set, in, call.Session, cmp.Or(a.Session, d.Sessions.Handle(call.Caller, call.Session)))
		text := fmt.Sprintf("%s (%s) is selected; the session lives %d s unused.\n\n%s", in.ID, in.Name, view.ExpiresInSeconds, view.Context)
		return &reply{text: text, structured: view}, nil
	})
}

type listIntentsArgs struct {
	Session string `json:"session"`
	Status  string `json:"status"`
}

type intentView struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Status     string   `json:"status"`
	OwnedScope []string `json:"owned_scope"`
	Agent      string   `json:"agent,omitempty"`
	Selectable bool     `json:"selectable"`
}

func listIntents(d *Deps) hooks.Tool {
	item := open([]string{"id", "name", "status", "owned_scope", "selectable"}, schema{
		"id": schema{"type": "string"}, "name": schema{"type": "string"},
		"status":      oneOf("Of the intent.", "TODO", "IN_PROGRESS", "BLOCKED", "DONE"),
		"owned_scope": list("Globs of the paths that may be changed under it; empty means every path.", schema{"type": "string"}),
		"agent":       text("Whom it is meant for."),
		"selectable":  flag("Whether select_active_intent takes it now."),
	})
	spec := hooks.Spec{
		Name: "list_intents", Title: "List the declared intents", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "List the intents that the operator declared: id, name, status, and the paths that each owns.",
		InputSchema: input(nil, schema{
			"status": oneOf("Only intents of this status.", "TODO", "PENDING", "IN_PROGRESS", "BLOCKED", "DONE", "COMPLETED"),
		}),
		OutputSchema: output(open([]string{"intents"}, schema{"intents": list("In the order of the file.", item)})),
	}
	return newSimple(spec, func(_ context.Context, _ *hooks.Call, a listIntentsArgs) (*reply, error) {
		set, err := d.intents()
		if err != nil {
			return nil, err
		}
		wanted, _ := intent.ParseStatus(a.Status)
		result := struct {
			Intents []intentView `json:"intents"`
		}{[]intentView{}}
		var b strings.Builder
		for _, in := range set.All() {
			if a.Status != "" && in.Status != wanted {
				continue
			}
			view := intentView{in.ID, in.Name, string(in.Status), append([]string{}, in.OwnedScope...), in.Agent, set.Selectable(in)}
			result.Intents = append(result.Intents, view)
			fmt.Fprintf(&b, "%s [%s%s] %s\n  scope: %s\n", in.ID, in.Status, unless(view.Selectable, ", cannot be selected"), in.Name, scopeText(in))
		}
		if len(result.Intents) == 0 {
			b.WriteString("[no such intents]\n")
		}
		return &reply{text: strings.TrimRight(b.String(), "\n"), structured: result}, nil
	})
}

// unless is text where a condition does not hold.
func unless(holds bool, text string) string {
	if holds {
		return ""
	}
	return text
}

func scopeText(in *intent.Intent) string {
	if in.Scope().Unrestricted() {
		return "every path"
	}
	return strings.Join(in.OwnedScope, ", ")
}
