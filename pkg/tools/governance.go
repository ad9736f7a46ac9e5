package tools

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// pendingView is the structured result of a request that waits for the
// operator.
type pendingView struct {
	ApprovalID string `json:"approval_id"`
	Status     string `json:"status"`
	Command    string `json:"operator_command"`
	ExpiresAt  string `json:"expires_at"`
}

func pendingSchema() schema {
	return open([]string{"approval_id", "status", "operator_command", "expires_at"}, schema{
		"approval_id":      text("For resume_approval."),
		"status":           text("recorded: waits for the operator; done: the file says so now."),
		"operator_command": text("What the operator can run."),
		"expires_at":       text("RFC 3339."),
	})
}

// request records what an agent asks for and names the operator's way.
func (d *Deps) request(call *hooks.Call, r approval.Request) (*reply, error) {
	r.Tool, r.Client = call.Tool, call.Caller.ClientName
	stored, _, err := d.Approvals.Put(r)
	if err != nil {
		return nil, ask.NotRequested("", err)
	}
	view := pendingView{stored.ID, "recorded", stored.Command, stored.ExpiresAt.Format("2006-01-02T15:04:05Z07:00")}
	text := fmt.Sprintf("The request is recorded as %s. Ask the user to run:\n\n    %s\n\nThen go on; resume_approval with approval_id: %q says whether it was done.",
		stored.ID, stored.Command, stored.ID)
	return &reply{
		outcome: hooks.Outcome{Record: &hooks.Note{Kind: string(ledger.KindLifecycle), IntentID: stored.IntentID,
			Detail: map[string]any{"request": call.Tool, "approval": stored.ID, "paths": stored.Paths, "reason": stored.Reason}}},
		text: text, structured: view,
	}, nil
}

type proposeArgs struct {
	hooks.Common
	Name        string   `json:"name"`
	OwnedScope  []string `json:"owned_scope"`
	Description string   `json:"description"`
	Constraints []string `json:"constraints"`
	Criteria    []string `json:"acceptance_criteria"`
}

func proposeIntent(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "propose_intent", Title: "Propose a new intent", Class: hooks.Governance,
		Description: "Propose an intent where none fits the work. The operator decides; the answer names the command that declares it.",
		InputSchema: input([]string{"name", "owned_scope", "description"}, schema{
			"name":                schema{"type": "string", "minLength": 1, "maxLength": 200, "description": "A short title."},
			"owned_scope":         schema{"type": "array", "minItems": 1, "maxItems": 100, "items": sentenceSchema(""), "description": "Globs of the paths that the work needs."},
			"description":         sentenceSchema("What is to be done and why."),
			"constraints":         schema{"type": "array", "maxItems": 50, "items": sentenceSchema(""), "description": "What must hold."},
			"acceptance_criteria": schema{"type": "array", "maxItems": 50, "items": sentenceSchema(""), "description": "How it is known to be done."},
			"intent_id":           text("Not used: the operator gives the id."),
			"mutation_class":      text("Not used."),
		}),
		OutputSchema: output(pendingSchema()),
	}
	return newSimple(spec, func(_ context.Context, call *hooks.Call, a proposeArgs) (*reply, error) {
		if err := proposable(a.OwnedScope); err != nil {
			return nil, err
		}
		command := "orchestra-mcp intents add --name " + shellQuote(a.Name) + flags("--scope", a.OwnedScope) +
			flags("--description", []string{a.Description}) + flags("--constraint", a.Constraints) + flags("--acceptance", a.Criteria)
		return d.request(call, approval.Request{Kind: approval.NewIntent, Name: a.Name, Paths: a.OwnedScope, Reason: a.Description, Command: command})
	})
}

type expandArgs struct {
	hooks.Common
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
}

func requestScopeExpansion(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "request_scope_expansion", Title: "Ask for a wider scope", Class: hooks.Governance,
		Description: "Ask the operator to add paths to an intent's owned_scope. The answer names the command that does it.",
		InputSchema: input([]string{"paths", "reason"}, schema{
			"paths":          schema{"type": "array", "minItems": 1, "maxItems": 100, "items": sentenceSchema(""), "description": "Globs of the paths that the work needs; a path is one, with \\ before characters that globs use."},
			"reason":         sentenceSchema("Why, for the operator."),
			"intent_id":      text("The intent, if none is selected."),
			"mutation_class": text("Not used."),
		}),
		OutputSchema: output(pendingSchema()),
	}
	return newSimple(spec, func(_ context.Context, call *hooks.Call, a expandArgs) (*reply, error) {
		set, err := d.intents()
		if err != nil {
			return nil, err
		}
		id := a.IntentID
		if call.Session != nil {
			id = call.Session.IntentID()
		}
		if id == "" {
			return nil, refusal.New(refusal.MissingOrInvalidIntent, "Whose scope? No intent is selected and intent_id is not given.").
				With("available", gate.Selectable(set))
		}
		in, ok := set.Get(id)
		if !ok {
			return nil, refusal.Newf(refusal.MissingOrInvalidIntent, "There is no intent %q.", clip(id, 80)).With("available", gate.Selectable(set))
		}
		if err := proposable(a.Paths); err != nil {
			return nil, err
		}
		if in.Scope().Unrestricted() {
			return nil, refusal.Newf(refusal.InvalidArguments, "%s has no owned_scope: every path is in its scope already.", in.ID).With("intent_id", in.ID).
				Suggest("Make the change; what refused it was something else.")
		}
		command := "orchestra-mcp intents scope " + in.ID + flags("--add", a.Paths)
		return d.request(call, approval.Request{Kind: approval.ScopeExpansion, IntentID: in.ID, Paths: a.Paths, Reason: a.Reason, Command: command})
	})
}

// proposable refuses globs that no operator's yes could make work.
func proposable(globs []string) error {
	if _, err := intent.CompileScope(globs); err != nil {
		return refusal.Newf(refusal.InvalidArguments, "The scope cannot stand: %v.", err)
	}
	for _, g := range globs {
		if literal, _, _ := strings.Cut(g, "*"); workspace.Protect(strings.Trim(literal, "/")) == workspace.ProtectNever {
			return refusal.Newf(refusal.ProtectedPath, "%s belongs to the governance files or to git; no intent can own it.", clip(g, 200)).With("path", clip(g, 200))
		}
	}
	return nil
}

// sentenceLimit bounds a text that an operator is to read, in characters.
const sentenceLimit = 4000

func sentenceSchema(description string) schema {
	s := schema{"type": "string", "minLength": 1, "maxLength": sentenceLimit}
	if description != "" {
		s["description"] = description
	}
	return s
}

func flags(name string, values []string) string {
	var b strings.Builder
	for _, value := range values {
		b.WriteString(" " + name + " " + shellQuote(value))
	}
	return b.String()
}

// shellQuote makes one word for a POSIX shell. The command is for a person to
// paste, and the text is an agent's: characters that control, reorder or hide
// text become spaces.
func shellQuote(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return "'" + strings.ReplaceAll(b.String(), "'", `'\''`) + "'"
}

// fulfilled looks at what the operator's command would have brought about.
func fulfilled(r approval.Request, set *intent.Set) bool {
	switch r.Kind {
	case approval.NewIntent:
		for _, in := range set.All() {
			if in.Name == r.Name {
				return true
			}
		}
	case approval.ScopeExpansion:
		in, ok := set.Get(r.IntentID)
		if !ok {
			return false
		}
		for _, path := range r.Paths {
			if !in.Scope().Match(path) && !contains(in.OwnedScope, path) {
				return false
			}
		}
		return true
	}
	return false
}

func contains(globs []string, glob string) bool {
	for _, g := range globs {
		if g == glob {
			return true
		}
	}
	return false
}
