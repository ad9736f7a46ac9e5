package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// protocol makes the protocol side once, when the first transport is served: until then tools may be added.
func (s *Server) protocol() (*mcpbridge.Server, error) {
	s.bridgeOnce.Do(func() { s.bridge, s.bridgeErr = s.newBridge() })
	return s.bridge, s.bridgeErr
}

func (s *Server) newBridge() (*mcpbridge.Server, error) {
	s.profiles.Sweep()
	config := mcpbridge.Config{
		Name: Name, Title: "orchestra-mcp", Version: s.options.Version,
		Instructions:      func() string { return protocolText(s.available()) },
		Handler:           (*arrivals)(s),
		Prompts:           s.prompts(),
		Resources:         s.resources(),
		ResourceTemplates: s.resourceTemplates(),
		Complete:          s.complete,
		Disconnected:      s.sessions.Disconnect,
		Busy:              s.jobs.Holds,
		Agent:             func(arguments json.RawMessage) string { return hooks.ReadArguments(arguments).Common().Session },
		Logger:            s.log,
	}
	for _, spec := range s.engine.Specs() {
		config.Tools = append(config.Tools, definition(spec))
	}
	return mcpbridge.New(config)
}

// definition is a tool as the protocol lists it. A tool that is not read-only
// may destroy unless it only adds to the operator's inbox.
func definition(spec hooks.Spec) mcpbridge.Tool {
	return mcpbridge.Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description,
		InputSchema: spec.InputSchema, OutputSchema: spec.OutputSchema,
		ReadOnly: spec.ReadOnly, Destructive: spec.Class == hooks.Destructive || spec.Class == "",
		Idempotent: spec.Idempotent, OpenWorld: spec.OpenWorld,
	}
}

// arrivals puts calls in order and runs them.
type arrivals Server

func (a *arrivals) Arrive(call mcpbridge.Call) func(ctx context.Context) mcpbridge.Result {
	s := (*Server)(a)
	spec, _ := s.engine.Spec(call.Tool)
	arguments := hooks.ReadArguments(call.Arguments)
	common := arguments.Common()
	turn := s.sessions.Arrive(s.callerOf(call), session.Call{
		Handle: common.Session, IntentID: common.IntentID, Reads: spec.ReadOnly, Selects: spec.Selects,
	})
	return func(ctx context.Context) mcpbridge.Result {
		defer turn.Done()
		s.appear()
		if !turn.Ready() && call.Behind != nil {
			call.Behind(func() { _ = turn.Wait(ctx) }) // which says it again below
		}
		if turn.Wait(ctx) != nil {
			return s.resultOf(hooks.Cancelled(spec.Class))
		}
		return s.resultOf(s.engine.Do(ctx, hooks.Request{
			Tool: call.Tool, Arguments: arguments, Caller: turn.Caller(), Progress: call.Progress, Fragile: call.Fragile, Leave: turn.Leave, Ways: waysOf(call),
		}))
	}
}

func (s *Server) resultOf(r hooks.Result) mcpbridge.Result {
	if r.InLine != nil {
		return mcpbridge.Result{InputRequired: &mcpbridge.InputRequired{Form: formOf(r.InLine.Form), State: r.InLine.State}}
	}
	if s.options.Settings.Results.Text == settings.Short {
		r.Text = shortText(r)
	}
	result := mcpbridge.Result{Text: r.Text, Structured: r.Structured, IsError: r.IsError}
	for _, c := range r.Content {
		result.Images = append(result.Images, mcpbridge.Image{MIMEType: c.MIMEType, Data: base64.StdEncoding.EncodeToString(c.Data)})
	}
	return result
}

// shortText gives the first lines of a large text, and of a refusal all but its details: structuredContent has the whole.
func shortText(r hooks.Result) string {
	const small = 1000
	if len(r.Text) <= small || len(r.Structured) == 0 {
		return r.Text
	}
	if r.IsError {
		var object refusal.Object
		if err := json.Unmarshal(r.Structured, &object); err != nil {
			return r.Text
		}
		object.Details = map[string]any{"more": "in structuredContent"}
		if text, err := hooks.EncodeJSON(object); err == nil {
			return string(text)
		}
		return r.Text
	}
	head := strings.ToValidUTF8(r.Text[:small/4], "")
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

// protocolText is what an agent is told before it starts. Names come from a
// file that others may write: they are quoted and cut.
func protocolText(available []*intent.Intent) string {
	var b strings.Builder
	b.WriteString("This workspace is governed. Nothing can be changed in it before an intent is selected.\n" +
		"1. Call list_intents, then select_active_intent with the id of the intent that covers your task.\n" +
		"2. Pass the returned `session` on every further call.\n" +
		"3. Read a file with read_file before you change it; use write_to_file, apply_diff, edit_file, apply_patch and execute_command of this server for every change.\n" +
		"4. Stay inside the intent's owned_scope. If it is too narrow, call request_scope_expansion; if no intent fits, call propose_intent.\n" +
		"5. A refusal names its reason and the next step: follow its action_hint.\n")
	if len(available) == 0 {
		b.WriteString("No intent can be selected now.\n")
		return b.String()
	}
	b.WriteString("Intents that can be selected now:\n")
	for i, in := range available {
		if i == 20 {
			fmt.Fprintf(&b, "- and %d more (list_intents)\n", len(available)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %q\n", in.ID, clip(in.Name, 120))
	}
	return b.String()
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
		Get: func(_ context.Context, _ mcpbridge.Caller, arguments map[string]string) (string, error) {
			text := protocolText(s.available())
			if id := arguments["intent_id"]; id != "" {
				text += fmt.Sprintf("Begin with select_active_intent, intent_id: %q.\n", clip(id, 64))
			}
			return text, nil
		},
	}}
}

// complete offers intent ids wherever one is asked for.
func (s *Server) complete(_ context.Context, _ mcpbridge.Caller, r mcpbridge.CompletionRequest) ([]string, error) {
	if r.Argument != "intent_id" && r.Argument != "id" {
		return nil, nil
	}
	var ids []string
	for _, in := range s.available() {
		if strings.HasPrefix(in.ID, r.Value) {
			ids = append(ids, in.ID)
		}
	}
	return ids, nil
}
