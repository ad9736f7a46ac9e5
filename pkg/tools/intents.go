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

func getActiveIntent(n *Intents) hooks.Tool {
	spec := looking("get_active_intent", "Selected intent", "The intent that this session works under: scope, context, how long it lives.")
	return respond[sessionArg, sessionView](spec, func(ctx context.Context, call *hooks.Call, a sessionArg) (*reply, error) {
		set, err := declared(n.Store)
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
		view := n.view(ctx, set, in, call.Session, cmp.Or(a.Session, n.Sessions.Handle(call.Caller, call.Session)))
		text := fmt.Sprintf("%s (%s) is selected; the session lives %d s unused.\n\n%s", in.ID, in.Name, view.ExpiresInSeconds, view.Context)
		return &reply{text: text, structured: view}, nil
	})
}

type listIntentsArgs struct {
	sessionArg
	Status string `json:"status,omitempty" enum:"TODO,PENDING,IN_PROGRESS,BLOCKED,DONE,COMPLETED"`
}

type intentView struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Status     string   `json:"status" enum:"TODO,IN_PROGRESS,BLOCKED,DONE" doc:"Of the intent."`
	OwnedScope []string `json:"owned_scope" doc:"Globs of the paths that may be changed under it; empty means every path."`
	Agent      string   `json:"agent,omitempty" doc:"Whom it is meant for."`
	Selectable bool     `json:"selectable" doc:"Whether select_active_intent takes it now."`
}

type intentList struct {
	Intents []intentView `json:"intents" doc:"In the order of the file."`
}

func listIntents(n *Intents) hooks.Tool {
	spec := looking("list_intents", "List intents", "The intents that the operator declared: id, name, status, owned_scope.")
	return respond[listIntentsArgs, intentList](spec, func(_ context.Context, _ *hooks.Call, a listIntentsArgs) (*reply, error) {
		set, err := declared(n.Store)
		if err != nil {
			return nil, err
		}
		wanted, _ := intent.ParseStatus(a.Status)
		result := intentList{[]intentView{}}
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
