package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

type selectArgs struct {
	sessionArg
	IntentID      string `json:"intent_id" is:"name"`
	MutationClass string `json:"mutation_class,omitempty" enum:"AST_REFACTOR,INTENT_EVOLUTION" doc:"Of later calls. AST_REFACTOR: the code does the same."`
	Join          string `json:"join,omitempty" is:"word" doc:"Only a code that a refusal gives for it."`
	Model         string `json:"model,omitempty" is:"word" doc:"Yours."`
}

// sessionView is the structured result of select_active_intent and get_active_intent.
type sessionView struct {
	Session          string   `json:"session" doc:"The handle to pass on each call."`
	IntentID         string   `json:"intent_id" doc:"The selected intent."`
	Name             string   `json:"name"`
	Status           string   `json:"status" enum:"TODO,IN_PROGRESS,BLOCKED,DONE" doc:"Of the intent."`
	MutationClass    string   `json:"mutation_class" doc:"The class that calls of this session have unless they declare one; may be empty."`
	OwnedScope       []string `json:"owned_scope" doc:"Globs of the paths that may be changed; empty means every path."`
	ExpiresInSeconds int      `json:"expires_in_seconds" min:"0" doc:"How long the handle lives unused."`
	Context          string   `json:"context" doc:"<intent_context> XML: what to do, within which limits, and what was done before."`
}

// SelectIntent is select_active_intent, for a person who has chosen an intent.
func SelectIntent(n *Intents) hooks.Tool { return selectActiveIntent(n) }

func selectActiveIntent(n *Intents) hooks.Tool {
	spec := hooks.Spec{
		Name: "select_active_intent", Title: "Select an intent", Class: hooks.Safe, Idempotent: true, Selects: true,
		Description: "Call this first: before an intent is selected nothing can be changed. " +
			"Returns its context and a `session` to pass on every later call. list_intents has the ids.",
	}
	return define[selectArgs, sessionView](spec, func(call *hooks.Call, args selectArgs) (hooks.Targeted, error) {
		return &answer{
			selects: args.IntentID,
			run:     func(ctx context.Context) (*reply, error) { return n.selectIntent(ctx, call, args) },
			prepare: func(run func(context.Context) (*hooks.Outcome, error)) (hooks.Prepared, error) {
				return n.start(args, run)
			},
		}, nil
	}, nil)
}

// start plans the edit for a selection of an intent that is TODO; nil for any other, which run judges.
func (n *Intents) start(a selectArgs, run func(context.Context) (*hooks.Outcome, error)) (hooks.Prepared, error) {
	set, err := declared(n.Store)
	if err != nil {
		return nil, err
	}
	in, ok := set.Get(a.IntentID)
	if !ok || in.Status != intent.Todo || !set.Selectable(in) {
		return nil, nil
	}
	plan, err := n.Store.PlanStatus(in.ID, intent.InProgress, n.Clock())
	if err != nil {
		return nil, startProblem(in.ID, err)
	}
	note := started(selection(in, a.MutationClass), plan)
	return &preparedEdit{intents: n.Store, plan: plan, outcome: &hooks.Outcome{Record: note}, start: run}, nil
}

func startProblem(id string, err error) error {
	return lifecycleProblem(fmt.Errorf("setting %s in progress: %w", id, err))
}

// selection is the note of one.
func selection(in *intent.Intent, class string) *hooks.Note {
	return &hooks.Note{Kind: string(record.KindSelection), IntentID: in.ID, Detail: map[string]any{"mutation_class": class, "owned_scope": in.OwnedScope}}
}

// started adds the edit to the record of a selection.
func started(note *hooks.Note, plan *intent.Plan) *hooks.Note {
	note.Edit = editOf(plan)
	note.Detail["started"] = true
	return note
}

func (n *Intents) selectIntent(ctx context.Context, call *hooks.Call, a selectArgs) (*reply, error) {
	set, in, err := declaredIntent(n.Store, a.IntentID)
	if err != nil {
		return nil, err
	}
	if r := gate.Usable(in, set); r != nil {
		return nil, r
	}
	if _, err := n.Sessions.Resolve(call.Caller, a.Session, ""); a.Session != "" && errors.Is(err, session.ErrExpired) {
		return nil, expired()
	}
	if err := n.Ledger.Writable(ctx); err != nil {
		// A selection that could not be recorded must not be made either.
		return nil, refusal.Newf(refusal.LedgerUnavailable, "The ledger cannot take a record: %v. Nothing was selected.", err)
	}
	if a.Model != "" && call.Caller.ModelSource != session.ModelOfMeta {
		call.Caller.ModelID, call.Caller.ModelSource = a.Model, session.ModelOfArgument
	}
	s, handle, err := n.Sessions.Select(ctx, call.Caller, a.Session, in.ID, a.MutationClass)
	if errors.Is(err, session.ErrExpired) {
		return nil, expired()
	}
	if err != nil {
		return nil, err
	}
	call.Session = s
	if a.Join != "" {
		if err := n.Sessions.Join(call.Caller, a.Join, s); err != nil {
			return nil, refusal.Newf(refusal.InvalidArguments, "join: %v.", err).Suggest("%s is selected for the tools of this server. Make a call with a tool of your client; its refusal has a new code.", in.ID)
		}
	}
	return n.selected(ctx, set, in, s, handle), nil
}

func expired() *refusal.Refusal {
	return refusal.New(refusal.SessionExpired, "The session handle is unknown or has expired.").
		Suggest("Call select_active_intent without `session` to get a new one.")
}

func (n *Intents) selected(ctx context.Context, set *intent.Set, in *intent.Intent, s *session.Session, handle string) *reply {
	view := n.view(ctx, set, in, s, handle)
	var b strings.Builder
	fmt.Fprintf(&b, "Selected %s. Pass session: %q on each call; it lives %s unused.\nIts name: %s\n\n%s", in.ID, handle, n.Sessions.Lifetime, printable.Clip(in.Name, 200), view.Context)
	return &reply{hooks.Outcome{Record: selection(in, view.MutationClass)}, b.String(), view}
}

func (n *Intents) view(ctx context.Context, set *intent.Set, in *intent.Intent, s *session.Session, handle string) sessionView {
	return sessionView{
		Session: handle, IntentID: in.ID, Name: in.Name, Status: string(in.Status), MutationClass: s.MutationClass(),
		OwnedScope: append([]string{}, in.OwnedScope...), ExpiresInSeconds: int(s.ExpiresIn().Seconds()),
		Context: n.intentContext(ctx, set.Ignore(), in, s.MutationClass()),
	}
}

// declaredIntent finds the intent that an argument names.
func declaredIntent(store *intent.Store, id string) (*intent.Set, *intent.Intent, error) {
	set, err := declared(store)
	if err != nil {
		return nil, nil, err
	}
	in, ok := set.Get(id)
	if !ok {
		return nil, nil, refusal.Newf(refusal.MissingOrInvalidIntent, "There is no intent %q.", clip(id, 80)).With("available", gate.Selectable(set))
	}
	return set, in, nil
}

// declared loads the snapshot for tools that are about intents themselves.
func declared(store *intent.Store) (*intent.Set, error) {
	set, err := store.Load()
	switch {
	case err == nil:
		return set, nil
	case errors.Is(err, intent.ErrNotInitialized):
		return nil, refusal.New(refusal.WorkspaceNotInitialized, "This workspace has no .orchestration/active_intents.yaml.")
	}
	return nil, gate.Unreadable(err)
}
