package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// protocol makes the protocol side once, when the first transport is served: until then tools may be added.
func (s *Server) protocol() (*mcpbridge.Server, error) {
	s.bridgeOnce.Do(func() { s.bridge, s.bridgeErr = s.newBridge() })
	return s.bridge, s.bridgeErr
}

func (s *Server) newBridge() (_ *mcpbridge.Server, err error) {
	if s.offered, err = newOffered(s.engine.Specs(), s.options.Settings.Tools); err != nil {
		return nil, err
	}
	s.profiles.Sweep()
	config := mcpbridge.Config{
		Name: Name, Title: "orchestra-mcp", Version: s.options.Version,
		Instructions:      s.protocolText,
		Handler:           (*reader)(s),
		Prompts:           slices.Concat(s.prompts(), s.added.prompts),
		Resources:         slices.Concat(s.resources(), s.added.resources),
		ResourceTemplates: slices.Concat(s.resourceTemplates(), s.added.templates),
		Complete:          s.complete,
		Disconnected:      s.sessions.Disconnect,
		Busy:              s.jobs.Holds,
		Logger:            s.log,
	}
	for _, spec := range s.offered.tools {
		spec.Description = s.offered.text(spec.Description)
		config.Tools = append(config.Tools, definition(spec))
	}
	if s.upstreams == nil {
		return mcpbridge.New(config)
	}
	config.Beside = s.upstreams
	bridge, err := mcpbridge.New(config)
	s.upstreams.bridge.Store(bridge)
	return bridge, err
}

// definition is a tool as the protocol lists it. A tool that is not read-only
// may destroy unless it only adds to the operator's inbox.
func definition(spec hooks.Spec) mcpbridge.Tool {
	return mcpbridge.Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description,
		InputSchema: spec.InputSchema, OutputSchema: spec.OutputSchema,
		ReadOnly: spec.ReadOnly, Destructive: spec.Class == hooks.Destructive || spec.Class == "",
		Idempotent: spec.Idempotent, OpenWorld: spec.OpenWorld, Asks: spec.Asks, App: appOf(spec),
	}
}

// reader takes the arguments of calls apart.
type reader Server

func (r *reader) Read(tool string, arguments json.RawMessage) mcpbridge.Incoming {
	read, spec := hooks.ReadArguments(arguments), hooks.Spec{}
	if r.upstreams != nil { // whose tools may call the common arguments otherwise
		spec, _ = r.engine.Spec(tool)
	}
	return &incoming{(*Server)(r), read, read.CommonAs(spec.CommonNames())}
}

// incoming puts a call in order and runs it.
type incoming struct {
	*Server
	arguments hooks.Arguments
	common    hooks.Common
}

// Agent implements mcpbridge.Incoming: agents are told apart by their sessions.
func (s *incoming) Agent() string { return s.common.Session }

func (s *incoming) Arrive(call mcpbridge.Call) func(ctx context.Context) mcpbridge.Result {
	spec, _ := s.engine.Spec(call.Tool)
	turn := s.sessions.Arrive(s.callerOf(call), session.Call{
		Handle: s.common.Session, IntentID: s.common.IntentID, Reads: spec.ReadOnly, Selects: spec.Selects,
	})
	return func(ctx context.Context) mcpbridge.Result {
		defer turn.Done()
		s.appear("")
		if !turn.Ready() {
			call.Behind(func() { _ = turn.Wait(ctx) }) // which says it again below
		}
		if turn.Wait(ctx) != nil {
			return s.resultOf(hooks.Cancelled(spec.Class))
		}
		client := &Client{call: call, class: spec.Class, leave: turn.Leave}
		ctx = context.WithValue(s.traced(ctx, call), clientKey{}, client)
		s.upstreams.meet(ctx, call.Tool)
		r := s.engine.Do(ctx, hooks.Request{
			Tool: call.Tool, Arguments: s.arguments, Caller: turn.Caller(), Progress: call.Progress, Fragile: call.Fragile, Leave: turn.Leave, Ways: waysOf(call),
		})
		if r.Unanswered {
			return mcpbridge.Result{Unanswered: true}
		}
		result := s.resultOf(r)
		result.Meta = s.viewMeta(ctx, call, turn.Caller(), r)
		return result
	}
}

func (s *Server) resultOf(r hooks.Result) mcpbridge.Result {
	if r.InLine != nil {
		return mcpbridge.Result{InputRequired: &mcpbridge.InputRequired{Form: formOf(r.InLine.Form), State: r.InLine.State}}
	}
	if r.Raw != nil {
		return mcpbridge.Result{Raw: r.Raw, IsError: r.IsError}
	}
	r = s.offered.refused(r)
	if s.options.Settings.Results.Text == settings.Short {
		r.Text = shortText(r)
	}
	result := mcpbridge.Result{Text: r.Text, Structured: r.Structured, Checked: r.Encoded(), IsError: r.IsError}
	for _, c := range r.Content {
		result.Content = append(result.Content, mcpbridge.Content{
			MIMEType: c.MIMEType, Data: base64.StdEncoding.EncodeToString(c.Data), URI: c.URI, Name: c.Name, Text: c.Text,
		})
	}
	return result
}

// shortText gives the first lines of a large text of which structuredContent has the whole. A refusal stays the same object in
// both (SPEC 7), and of a handler of others nobody knows that its two forms say the same.
func shortText(r hooks.Result) string {
	const small, shown = 400, 250
	if r.IsError || len(r.Text) <= small || !r.Encoded() {
		return r.Text
	}
	head := strings.ToValidUTF8(r.Text[:shown], "")
	if end := strings.LastIndexByte(head, '\n'); end > 0 {
		head = head[:end]
	}
	return head + "\n[the rest is in structuredContent]"
}

// available lists the intents that an agent can select now. Where the file
// does not parse there are none, and the first call says why.
func (s *Server) available() []*intent.Intent {
	set, err := s.intents.Load()
	if err != nil {
		return nil
	}
	var found []*intent.Intent
	for _, in := range set.All() {
		if set.Selectable(in) {
			found = append(found, in)
		}
	}
	return found
}

func (s *Server) protocolText() string {
	return protocolText(s.available(), s.offered, besideText(s.options.Settings.Upstreams()))
}

// maxTold is how many intents, and how many other servers, an agent is told of before it starts.
const maxTold = 20

// protocolText is what an agent is told before it starts: also what holds of arguments that every tool has, which no tool says
// again. Names come from a file that others may write: they are quoted and cut.
func protocolText(available []*intent.Intent, o offered, beside string) string {
	var b strings.Builder
	b.WriteString("This workspace is governed. Nothing can be changed in it before an intent is selected.\n")
	first := "1. Call list_intents, then select_active_intent with the id of the intent that covers your task.\n"
	if !o.has("select_active_intent") {
		first = "1. This server offers no tool that selects one (tools.enabled): tell the user where your task needs it.\n"
	}
	b.WriteString(o.text(first +
		"2. Pass the returned `session` on every further call. `intent_id` of a change is a cross-check: it never selects.\n" +
		"3. Read a file with read_file before you change it; paths are relative to the workspace. " + changing(o) +
		"Your client's own tools are held to the same where its hooks ask this server: a refusal of one says how to go on.\n" +
		"4. `mutation_class` of a change is AST_REFACTOR if it keeps what the code does (renames, moves, formatting, comments), else INTENT_EVOLUTION.\n" +
		"5. Stay inside the intent's owned_scope. Where it is too narrow, there is request_scope_expansion; where no intent fits, propose_intent.\n" +
		"6. A refusal names its reason and the next step: follow its action_hint.\n"))
	b.WriteString(o.text(beside))
	if len(available) == 0 {
		b.WriteString("No intent can be selected now.\n")
		return b.String()
	}
	b.WriteString("Intents that can be selected now:\n")
	for i, in := range available {
		if i == maxTold {
			b.WriteString(o.text(fmt.Sprintf("- and %d more (list_intents)\n", len(available)-i)))
			break
		}
		fmt.Fprintf(&b, "- %s: %q\n", in.ID, clip(in.Name, 120))
	}
	return b.String()
}

// changing names the tools for every change.
func changing(o offered) string {
	var names []string
	for _, name := range []string{"write_to_file", "apply_diff", "edit_file", "apply_patch", "execute_command"} {
		if o.has(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "This server offers no tool that changes one. "
	}
	return "Use " + strings.Join(names, ", ") + " of this server for every change. "
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func (s *Server) prompts() []mcpbridge.Prompt {
	return []mcpbridge.Prompt{{
		Name: "intent_driven_protocol", Title: "Work under a declared intent",
		Description: "How to work in this workspace, with the intents that can be selected now.",
		Arguments:   []mcpbridge.PromptArgument{{Name: "intent_id", Description: "The intent to work under."}},
		Get: func(arguments map[string]string) string {
			text := s.protocolText()
			if id := arguments["intent_id"]; id != "" && s.offered.has("select_active_intent") {
				text += fmt.Sprintf("Begin with select_active_intent, intent_id: %q.\n", clip(id, 64))
			}
			return text
		},
	}}
}

// complete offers intent ids wherever one is asked for.
func (s *Server) complete(argument, value string) (ids []string) {
	if argument != "intent_id" && argument != "id" {
		return nil
	}
	for _, in := range s.available() {
		if strings.HasPrefix(in.ID, value) {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// waysOf is how the operator can be asked while a call is made.
func waysOf(call mcpbridge.Call) hooks.Ways {
	if !auth.Role(call.Caller.Role).Answers() {
		return hooks.Ways{Aside: call.Aside, Elsewhere: call.Caller.CanElicit}
	}
	ways := hooks.Ways{Aside: call.Aside, Return: call.Caller.Modern && call.Caller.CanElicit}
	if elicit := call.Elicit; elicit != nil {
		ways.Elicit = func(ctx context.Context, f hooks.Form) (hooks.Reply, error) {
			answer, err := elicit(ctx, formOf(f))
			return replyOf(answer), err
		}
	}
	// An answer of a client that cannot be asked was not given to a question of ours.
	if resumed := call.Resumed; resumed != nil && ways.Return {
		ways.Resumed = &hooks.Resumed{State: resumed.State, Read: func(f hooks.Form) (hooks.Reply, error) {
			answer, err := formOf(f).Read(resumed.Answer)
			return replyOf(answer), err
		}}
	}
	return ways
}

// formOf is an approval as a form.
func formOf(f hooks.Form) mcpbridge.Form {
	options := []mcpbridge.Option{{Value: string(approval.Once), Title: "Approve once"}}
	if f.ForIntent {
		options = append(options, mcpbridge.Option{Value: string(approval.ForIntent), Title: "Approve for this intent, until it ends"})
	}
	options = append(options, mcpbridge.Option{Value: string(approval.Deny), Title: "Deny"})
	return mcpbridge.Form{Message: f.Message, Options: options}
}

// replyOf: who declines the form says no; who puts it away has not answered.
func replyOf(a mcpbridge.Answer) hooks.Reply {
	switch a.Action {
	case mcpbridge.Accept:
		return hooks.Reply{Decision: a.Decision, Reason: a.Reason}
	case mcpbridge.Decline:
		return hooks.Reply{Decision: string(approval.Deny)}
	}
	return hooks.Reply{}
}

// callerOf is who makes a call, with the model that the call, the client or its environment names.
func (s *Server) callerOf(call mcpbridge.Call) session.Caller {
	c := call.Caller
	caller := session.Caller{Connection: c.Connection, Principal: c.Principal, Role: auth.Role(c.Role), ClientName: c.Client.Name, ClientVersion: c.Client.Version}
	switch {
	case call.Model != "":
		caller.ModelID, caller.ModelSource = call.Model, session.ModelOfMeta
	case c.Client.Model != "":
		caller.ModelID, caller.ModelSource = c.Client.Model, session.ModelOfClient
	case s.options.ModelOf != nil:
		if caller.ModelID = s.options.ModelOf(c.Client.Name); caller.ModelID != "" {
			caller.ModelSource = session.ModelOfEnvironment
		}
	}
	return caller
}
