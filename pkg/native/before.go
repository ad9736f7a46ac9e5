package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

func errNoSession() *refusal.Refusal {
	return refusal.New(refusal.InvalidArguments, "The client's event names no session, so nothing tells whose call it is.").
		WithHint(refusal.HintAskUser).Suggest("Tell the user: orchestra-mcp doctor says which version of the client it was made for.")
}

// before judges a call.
func (d *Desk) before(ctx context.Context, s *clientSession, e clienthook.Event) clienthook.Answer {
	switch a := e.Action.(type) {
	case clienthook.Governed:
		return clienthook.Answer{} // which judges itself
	case clienthook.Foreign:
		d.note(e, "passed", "neither of files nor of the shell: left to the client's permissions")
		return clienthook.Answer{}
	case clienthook.Command:
		return d.command(ctx, e, a)
	case clienthook.Reads:
		for _, one := range each(e, a) {
			if answer := d.before(ctx, s, one); answer.Verdict == clienthook.Deny {
				return answer
			}
		}
		return clienthook.Answer{}
	}
	call := d.translate(e)
	switch {
	case call.tool == nil:
		return d.deny(e, refusal.Newf(refusal.InvalidArguments, "The call of %s is not understood.", e.Tool))
	case call.beyond && !isRead(e):
		d.note(e, "passed", "a place of the client's own, outside of the workspace")
		return clienthook.Answer{}
	case call.beyond:
		return clienthook.Answer{}
	}
	if r := d.showsSecrets(e); r != nil {
		return d.deny(e, r)
	}
	request, err := d.request(e, call)
	if err != nil {
		return d.denied(e, refusal.From(err))
	}
	var let *letThrough
	tool := tools.ByClient(call.tool, func(c *hooks.Call, effects hooks.Effects) (err error) {
		if isRead(e) {
			d.reading(s, e)
			return nil
		}
		let, err = d.letThrough(e, c, effects)
		return err
	})
	var a asking
	if r := d.ask(e, &a, func(engine *hooks.Engine) *refusal.Refusal { return engine.Run(ctx, tool, request).Refusal }); r != nil {
		return d.denied(e, r)
	}
	if let != nil && len(a.questions) > 0 {
		let.Asked = a.questions
		if err := d.keep(let); err != nil {
			return d.denied(e, refusal.From(err))
		}
	}
	return a.answer()
}

// each are the reads of one call, as calls of their own.
func each(e clienthook.Event, a clienthook.Reads) (all []clienthook.Event) {
	for i, file := range a.Files {
		one := e
		one.Action, one.Call = file, fmt.Sprintf("%s#%d", e.Call, i)
		all = append(all, one)
	}
	return all
}

func isRead(e clienthook.Event) bool {
	switch e.Action.(type) {
	case clienthook.Read, clienthook.Look:
		return true
	}
	return false
}

func (d *Desk) request(e clienthook.Event, call ours) (hooks.Request, error) {
	args := call.args
	if args == nil {
		args = map[string]any{}
	}
	arguments, err := hooks.MakeArguments(args)
	return hooks.Request{Tool: call.tool.Spec().Name, Arguments: arguments, Caller: caller(e), ByClient: true, Ways: hooks.Ways{Asks: canAsk(e)}}, err
}

// choose selects what a person has chosen, unless the agent has joined a selection of its own.
func (d *Desk) choose(ctx context.Context, e clienthook.Event, terminal string) {
	if d.Chosen == nil {
		return
	}
	id, byBranch := d.Chosen(terminal)
	if id == "" {
		return
	}
	now, err := d.Sessions.Resolve(caller(e), "", "")
	if err == nil && now.IntentID() == id || d.Sessions.Joined(caller(e)) {
		return
	}
	arguments, err := hooks.MakeArguments(map[string]string{"intent_id": id})
	if err != nil {
		return
	}
	engine := d.Operator
	if byBranch {
		engine = d.Engine
	}
	tool := tools.SelectIntent(d.Tools.Intents)
	selected := engine.Run(ctx, tool, hooks.Request{Tool: tool.Spec().Name, Arguments: arguments, Caller: caller(e), Operator: !byBranch})
	if r := selected.Refusal; r != nil {
		d.Logger.Warn().Str("intent", id).Str("why", r.Reason()).Msg("what was chosen for this session cannot be selected")
	}
}

// denied is the answer to a call that the engine has refused.
func (d *Desk) denied(e clienthook.Event, r *refusal.Refusal) clienthook.Answer {
	text := Text(r)
	if r.Code() == refusal.MissingOrInvalidIntent || r.Code() == refusal.IntentNotActive {
		if code, err := d.Sessions.JoinCode(caller(e)); err == nil {
			text += fmt.Sprintf("\nCall select_active_intent of the MCP server orchestra with the intent that covers your task and join: %q. "+
				"Your own tools work under it then. Or ask the user to run: orchestra-mcp use INTENT", code)
		}
	}
	return clienthook.Answer{Verdict: clienthook.Deny, Reason: text}
}

// Text is a refusal as the model of a client is told it: a hook's answer is text.
func Text(r *refusal.Refusal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Code(), r.Reason())
	if s := r.Suggestion(); s != "" {
		b.WriteString("\n" + s)
	}
	for _, detail := range []string{"diff_since_seen", "content"} {
		if v, ok := r.Detail(detail).(string); ok && v != "" {
			fmt.Fprintf(&b, "\n%s: %s", detail, v)
		}
	}
	return b.String()
}

// deny refuses an event that never became a call, and records it.
func (d *Desk) deny(e clienthook.Event, r *refusal.Refusal) clienthook.Answer {
	rec := d.base(e)
	rec.Decision = &record.Decision{Outcome: "refused", ErrorType: string(r.Code()), Hook: "client-hook", Reason: r.Reason()}
	if d.Ledger.Writable(context.Background()) == nil {
		call := hooks.Call{Class: hooks.Safe}
		call.Intents, _ = d.Tools.Intents.Store.Load()
		rec.Policy, rec.Judged, _ = d.JudgedBy(&call) // it stands without
	}
	d.append(rec)
	return clienthook.Answer{Verdict: clienthook.Deny, Reason: Text(r)}
}

// Refuse is deny for an event that could not be read.
func (d *Desk) Refuse(e clienthook.Event, err error) clienthook.Answer {
	return d.deny(e, refusal.Newf(refusal.InvalidArguments, "The event of %s's hook cannot be read, so the call is not let through: %v.", e.Client, err).
		Suggest("Tell the user: the version of %s may not be known to this version of orchestra-mcp.", e.Client))
}

// note records what is no change.
func (d *Desk) note(e clienthook.Event, outcome, reason string) {
	rec := d.base(e)
	rec.Decision = &record.Decision{Outcome: outcome, Hook: "client-hook", Reason: reason}
	d.append(rec)
}

// base is the record of a decision about a client's call.
func (d *Desk) base(e clienthook.Event) record.Record {
	rec := record.Record{
		Kind: record.KindDecision, Call: e.Tool, Contributor: record.Contributor{Type: record.ContributorAI, ModelID: e.Model},
		Client: record.Client{Name: string(e.Client), Version: e.Version}, Detail: detail(e),
	}
	if s, err := d.Sessions.Resolve(caller(e), "", ""); e.Session != "" && err == nil {
		rec.IntentID, rec.Session = s.IntentID(), s.PublicID()
	}
	return rec
}

func (d *Desk) append(rec record.Record) {
	if d.Ledger.Writable(context.Background()) == nil {
		d.Ledger.AppendSoon(rec)
	}
}

// detail is what every record of a client's own call has.
func detail(e clienthook.Event) map[string]any {
	made := map[string]any{"client_tool": e.Tool}
	for key, value := range map[string]string{"client_call": e.Call, "agent": e.Agent} {
		if value != "" {
			made[key] = value
		}
	}
	return made
}
