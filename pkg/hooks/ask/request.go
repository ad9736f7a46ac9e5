package ask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// maxDiff bounds the diffs of one request, and maxArguments the arguments that are kept for resume_approval, in bytes.
	maxDiff      = 256 << 10
	maxArguments = 1 << 20
	// maxSent bounds the arguments for another server that people are shown, in bytes.
	maxSent = 64 << 10
	// maxDiffInput bounds the files that a diff is made of.
	maxDiffInput = 4 << 20
)

// requestOf says what a call would do and why it was stopped, without the diffs.
func requestOf(call *hooks.Call, questions []hooks.Question) approval.Request {
	r := approval.Request{
		Tool: call.Tool, Principal: approval.PrincipalMark(call.Caller.Principal), Client: client(call),
		ByClient: call.ByClient,
	}
	names := hooks.CommonNames()
	if u := call.Effects.Upstream; u != nil {
		names = u.Names
		r.Sent, r.SentSize = sentTo(u)
	}
	if r.Arguments = arguments(call.Arguments, names.Session); names.Session != hooks.CommonNames().Session {
		r.SessionArgument = names.Session
	}
	if e := call.Edited; e != nil {
		r.Asked = &approval.Asked{ID: e.ID, Digest: e.Asked, Edit: approval.Edit(e.From)}
	}
	if call.Session != nil {
		r.Session = call.Session.PublicID()
	}
	if call.Intent != nil {
		r.IntentID, r.IntentName, r.IntentVersion = call.Intent.ID, call.Intent.Name, call.Intent.Version()
	}
	r.Effects = effectsOf(call.Effects)
	if p := call.Effects.Proposes; p != nil {
		r.Name, r.Paths, r.Reason = p.Name, p.Paths, p.Reason
	}
	for _, q := range questions {
		r.Checks = append(r.Checks, approval.Check{
			Hook: q.Hook, ErrorType: string(q.Refusal.Code()), Reason: q.Refusal.Reason(), Paths: q.Paths,
		})
	}
	if id := call.Effects.Selects; id != "" && call.Intents != nil {
		if in, ok := call.Intents.Get(id); ok {
			r.IntentID, r.IntentName, r.IntentVersion = in.ID, in.Name, in.Version()
		}
	}
	if r.IntentID == "" {
		r.IntentID, r.IntentName = aboutIntent(call, questions)
	}
	r.OnceWhy = onlyOnce(call)
	r.Once = r.OnceWhy != ""
	return r
}

// aboutIntent is the intent that a call would have changed, which works under
// none: the people who look at their requests want to know which it is.
func aboutIntent(call *hooks.Call, questions []hooks.Question) (id, name string) {
	if call.Class != hooks.Governance {
		return "", ""
	}
	for _, q := range questions {
		if id, _ = q.Refusal.Detail("intent_id").(string); id == "" {
			continue
		}
		if call.Intents != nil {
			if in, ok := call.Intents.Get(id); ok {
				name = in.Name
			}
		}
		return id, name
	}
	return "", ""
}

// onlyOnce says why a call can be approved once only; "" if it can be for the intent.
func onlyOnce(call *hooks.Call) string {
	switch {
	case call.Effects.Selects != "":
		return "each selection of an intent is put to you"
	case call.Class == hooks.Governance:
		return "each change of the intents is put to you"
	case call.Intent == nil:
		return "no intent is selected"
	}
	for _, f := range call.Effects.Files {
		if f.Mutates() && f.Protection != workspace.ProtectNone {
			return f.Source() + " is protected: each change of it is put to you"
		}
	}
	return ""
}

func client(call *hooks.Call) string {
	return strings.TrimSpace(call.Caller.ClientName + " " + call.Caller.ClientVersion)
}

func effectsOf(effects hooks.Effects) []approval.Effect {
	var found []approval.Effect
	for _, f := range effects.Files {
		e := approval.Effect{Kind: f.Op.Verb(), Path: f.Source(), Before: f.Before.Hash, After: f.After.Hash}
		if f.From != "" {
			e.To = f.Path
		}
		found = append(found, e)
	}
	if c := effects.Command; c != nil {
		found = append(found, approval.Effect{
			Kind: "command", Line: c.Line, Cwd: c.Cwd, Shell: c.Shell, Timeout: c.Timeout, Background: c.Background,
		})
		found = append(found, contentsOf(c)...)
	}
	if u := effects.Upstream; u != nil {
		found = append(found, approval.Effect{Kind: approval.KindUpstream, Server: u.Server, Tool: u.Tool, Definition: u.Definition, Arguments: u.Digest()})
	}
	if effects.Selects != "" {
		found = append(found, approval.Effect{Kind: "select", Path: effects.Selects})
	}
	return found
}

// contentsOf are the files that a line names, with what they hold.
func contentsOf(c *hooks.CommandEffect) []approval.Effect {
	if c.Contents == nil {
		return nil
	}
	contents := c.Contents()
	var found []approval.Effect
	for _, f := range contents.Files {
		found = append(found, approval.Effect{Kind: approval.KindContent, Path: f.Path, Before: f.Hash})
	}
	if contents.More > 0 {
		found = append(found, approval.Effect{Kind: approval.KindContent, More: contents.More})
	}
	return found
}

// sentTo are the arguments for another server in one line, as far as they are kept, and their size.
func sentTo(u *hooks.UpstreamEffect) (text string, size int) {
	var b bytes.Buffer
	if json.Compact(&b, u.Arguments) != nil {
		return "", len(u.Arguments)
	}
	size = b.Len()
	return strings.ToValidUTF8(string(b.Bytes()[:min(size, maxSent)]), ""), size
}

// arguments are a call's without its session handle, which state/ must not hold; nil where they are too large, or no object.
func arguments(raw json.RawMessage, session string) json.RawMessage {
	if len(raw) > maxArguments {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	delete(object, session)
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return encoded
}

// Arguments are the stored arguments of a request for a caller that goes on with it, under the session that it names.
func Arguments(r approval.Request, session string) (hooks.Arguments, error) {
	if session == "" {
		return hooks.ReadArguments(r.Arguments), nil
	}
	return storedWith(r.Arguments, cmp.Or(r.SessionArgument, hooks.CommonNames().Session), session)
}

// storedWith are stored arguments with another member.
func storedWith(stored json.RawMessage, name, value string) (hooks.Arguments, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(stored, &object); err != nil {
		return hooks.Arguments{}, err
	}
	var err error
	if object[name], err = json.Marshal(value); err != nil {
		return hooks.Arguments{}, err
	}
	return hooks.MakeArguments(object)
}

// diffsOf computes what the call would change, from the bytes that it planned.
func diffsOf(call *hooks.Call) []approval.FileDiff {
	var diffs []approval.FileDiff
	left := maxDiff
	for _, f := range call.Effects.Files {
		if !f.Mutates() || call.Effects.Command != nil { // what a command will redirect there nobody knows
			continue
		}
		d := diffOf(f)
		if len(d.Hunks) > left {
			d.Hunks = wholeLines(d.Hunks[:left])
		}
		left -= len(d.Hunks)
		diffs = append(diffs, d)
	}
	return diffs
}

func wholeLines(text string) string { return text[:strings.LastIndexByte(text, '\n')+1] }

func diffOf(f *hooks.FileEffect) approval.FileDiff {
	d := approval.FileDiff{Path: strings.Join(f.Paths(), " → "), Note: noteOf(f)}
	if f.Unread {
		d.Note = f.Op.Verb() + ": its content is too large to be shown, or another server makes it"
		return d
	}
	if len(f.Before.Bytes)+len(f.After.Bytes) > maxDiffInput {
		d.Note += ", too large for a diff"
		d.Size = len(f.After.Bytes)
		return d
	}
	before, after, ok := hooks.Texts(f.Before.Bytes, f.After.Bytes)
	if !ok {
		d.Note += ", binary"
		return d
	}
	unified := edit.Unified("a", "b", before, after, 3)
	_, unified, _ = strings.Cut(unified, "\n") // the header, which says nothing
	_, d.Hunks, _ = strings.Cut(unified, "\n")
	d.Size, d.Lines = len(d.Hunks), strings.Count(d.Hunks, "\n")
	return d
}

// noteOf says in words what becomes of a file.
func noteOf(f *hooks.FileEffect) string {
	switch f.Op {
	case change.Created:
		return fmt.Sprintf("a new file of %d bytes", len(f.After.Bytes))
	case change.Deleted:
		return fmt.Sprintf("deleted, with its %d bytes", len(f.Before.Bytes))
	case change.Moved:
		return fmt.Sprintf("moved; %d bytes become %d", len(f.Before.Bytes), len(f.After.Bytes))
	}
	return fmt.Sprintf("%d bytes become %d", len(f.Before.Bytes), len(f.After.Bytes))
}

// Outcomes of a decision in the ledger.
const (
	Asked    = "asked"
	Approved = "approved"
	Denied   = "denied"
	Expired  = "expired"
	Revoked  = "revoked"
)

// Decision is a step of a request's life, for the ledger.
func Decision(r approval.Request, outcome string) record.Decision {
	d := record.Decision{Outcome: outcome, ErrorType: r.ErrorType(), Approval: r.ID, Paths: r.About()}
	for i, c := range r.Checks {
		if i == 0 {
			d.Hook, d.Reason = c.Hook, redact.Text(c.Reason)
			continue
		}
		d.Also = append(d.Also, c.ErrorType)
	}
	return d
}

// AnswerDecision is an answer, for the ledger.
func AnswerDecision(r approval.Request, a approval.Answer) record.Decision {
	d := Decision(r, Approved)
	d.Principal = a.By
	if a.Decision == approval.Deny {
		d.Outcome = Denied
	} else {
		for _, c := range r.Checks {
			d.Allowed = append(d.Allowed, c.Hook)
		}
	}
	if a.Reason != "" {
		d.Reason = a.Reason
	}
	return d
}

// Record is the ledger's record of a decision that an operator took outside of a call, at the command line.
func Record(r approval.Request, d record.Decision, way string) record.Record {
	return record.Record{
		Kind: record.KindDecision, IntentID: r.IntentID, Call: r.Tool, Session: r.Session, Client: record.Client{Name: r.Client},
		Contributor: record.Contributor{Type: record.ContributorHuman}, Decision: &d, Detail: map[string]any{"way": way},
	}
}
