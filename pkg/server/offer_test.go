package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// offers has a server offer what a program had that was written with mcp-go.
func offers(t *testing.T, s *server.Server) {
	t.Helper()
	var (
		prompt   mcpbridge.ForeignPrompt
		resource mcpbridge.ForeignResource
		template mcpbridge.ForeignResourceTemplate
	)
	check.OK(t, json.Unmarshal([]byte(`{"name":"greet","description":"d","arguments":[{"name":"who","required":true},{"name":"how"}]}`), &prompt))
	check.OK(t, json.Unmarshal([]byte(`{"uri":"notes:today","name":"today","mimeType":"text/plain"}`), &resource))
	check.OK(t, json.Unmarshal([]byte(`{"uriTemplate":"notes:{day}/{hour}","name":"notes"}`), &template))
	addPrompt := func() error {
		return s.AddPrompt(prompt, func(_ context.Context, r mcpbridge.ForeignPromptRequest) (*mcpbridge.ForeignPromptResult, error) {
			switch who := r.Params.Arguments["who"]; who {
			case "nobody":
				return nil, nil
			case "much":
				return &mcpbridge.ForeignPromptResult{Description: strings.Repeat("x", 17<<20)}, nil
			default:
				return &mcpbridge.ForeignPromptResult{Description: "hello " + who}, nil
			}
		})
	}
	read := func(_ context.Context, r mcpbridge.ForeignReadRequest) ([]mcpbridge.ForeignContents, error) {
		switch r.Params.URI {
		case "notes:none/1":
			return nil, fmt.Errorf("that day: %w", server.ErrNotFound)
		case "notes:empty/1":
			return nil, nil
		case "notes:broken/1":
			return nil, errors.New("the paper is wet")
		}
		return []mcpbridge.ForeignContents{mcpbridge.ForeignText{URI: r.Params.URI, Text: fmt.Sprint(r.Params.Arguments["day"], r.Params.Arguments["hour"])}}, nil
	}
	check.OK(t, addPrompt())
	check.OK(t, s.AddResource(resource, read))
	check.OK(t, s.AddResourceTemplate(template, read))
	check.That(t, addPrompt() != nil && s.AddResource(resource, read) != nil && s.AddResourceTemplate(template, read) != nil, "a name was taken twice")
	check.That(t, s.AddResourceTemplate(mcpbridge.ForeignResourceTemplate{Name: "x"}, read) != nil, "a template without one was taken")
	prompt.Name = "intent_driven_protocol"
	check.That(t, addPrompt() != nil, "the server's prompt was replaced")
	for _, uri := range []string{"", "notes", ":x", "orchestra://intents", "Orchestra://other", "ui://page"} {
		resource.URI = uri
		check.That(t, s.AddResource(resource, read) != nil, "%q was taken", uri)
	}
}

// What an embedder offers is listed behind what the server has, and answered as the protocol has it.
func TestEmbeddersOffer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) {
			b := start(t, newWorkspace(t))
			offers(t, b.server)
			b.connectAs(version)
			ctx := t.Context()
			prompts := check.Value(b.client.ListPrompts(ctx, nil))(t).Prompts
			resources := check.Value(b.client.ListResources(ctx, nil))(t).Resources
			templates := check.Value(b.client.ListResourceTemplates(ctx, nil))(t).ResourceTemplates
			if len(prompts) != 2 || prompts[1].Name != "greet" || len(templates) != 2 || templates[1].URITemplate != "notes:{day}/{hour}" ||
				resources[len(resources)-1].URI != "notes:today" {
				t.Errorf("got %v %v %v", prompts, resources, templates)
			}
			get := func(arguments map[string]string) string {
				r, err := b.client.GetPrompt(ctx, &gosdk.GetPromptParams{Name: "greet", Arguments: arguments})
				if err != nil {
					return err.Error()
				}
				return r.Description
			}
			for want, who := range map[string]string{"hello Ann": "Ann", "gave no answer": "nobody", "longer than": "much"} {
				got := get(map[string]string{"who": who})
				check.That(t, strings.Contains(got, want), "%s: %s", who, got)
			}
			got := get(map[string]string{"how": "loudly"})
			check.That(t, strings.Contains(got, `needs the argument \"who\"`) || strings.Contains(got, `needs the argument "who"`), "got %s", got)
			for uri, want := range map[string]string{
				"notes:today": "<nil> <nil>", "notes:mon/9": "[mon] [9]", "notes:none/1": "that day: not found", "notes:empty/1": "not found",
				"notes:broken/1": "the paper is wet", "notes:x": "not found",
			} {
				r, err := b.client.ReadResource(ctx, &gosdk.ReadResourceParams{URI: uri})
				got := fmt.Sprint(err)
				if err == nil {
					got = r.Contents[0].Text
				}
				check.That(t, strings.Contains(strings.ToLower(got), want), "%s: %s", uri, got)
			}
		})
	}
}

// All that a handler's schema demands is listed, and holds, for its own arguments alone.
func TestSchemaOfAHandlerHolds(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	const own = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"n":{"$anchor":"n","type":"integer"}},` +
		`"properties":{"a":{"$ref":"#/$defs/n"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}],"maxProperties":1}`
	check.OK(t, b.server.AddHandler(server.Handler{
		Tool: mcpbridge.ForeignTool{Name: "either", Description: "d", RawInputSchema: json.RawMessage(own)}, Class: hooks.Safe,
		Handle: func(context.Context, mcpbridge.ForeignRequest) (*mcpbridge.ForeignResult, error) {
			return &mcpbridge.ForeignResult{StructuredContent: args{"done": true}}, nil
		},
	}))
	b.connect()
	for _, tool := range check.Value(b.client.ListTools(t.Context(), nil))(t).Tools {
		listed := string(check.Value(json.Marshal(tool.InputSchema))(t))
		for _, part := range []string{`"$schema":`, `"$anchor":"n"`, `"oneOf":[{"required":["a"]},{"required":["b"]}]`, `"maxProperties":1`, `"session":`, `"additionalProperties":false`} {
			check.That(t, tool.Name != "either" || strings.Contains(listed, part), "no %s in %s", part, listed)
		}
	}
	s := b.Selects("INT-001")
	for _, a := range []args{{}, {"a": 1, "b": "x"}, {"a": "1"}, {"c": 1}} {
		a["session"] = s
		b.Refused("INVALID_ARGUMENTS", "either", a)
	}
	r := check.Value(b.client.CallTool(t.Context(), &gosdk.CallToolParams{Name: "either", Arguments: args{"a": 1, "session": s, "intent_id": "INT-001"}}))(t)
	check.That(t, !r.IsError, "%v", r.Content)
}

// asking is a handler that asks for a name.
func asking(name string, class hooks.Class) server.Handler {
	return server.Handler{
		Tool: foreign(name, "{}"), Class: class,
		Handle: func(ctx context.Context, _ mcpbridge.ForeignRequest) (*mcpbridge.ForeignResult, error) {
			client := server.ClientOf(ctx)
			client.Progress("asking", 1, 2)
			r, err := client.Ask(ctx, "who", server.Question{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			return &mcpbridge.ForeignResult{StructuredContent: args{"answer": string(r.Action) + string(r.Content)}}, err
		},
	}
}

// The handler of a tool asks the client's user; one that changes something does not where its call would be made twice for it.
func TestHandlersAsk(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	ask := asking("ask", hooks.Safe)
	check.OK(t, b.server.AddHandler(ask))
	check.OK(t, b.server.AddHandler(asking("ask_and_do", hooks.Destructive)))
	depends := asking("depends", hooks.Destructive)
	depends.Asks = true
	check.That(t, b.server.AddHandler(depends) != nil, "a tool that changes something depends on questions")
	b.t.Cleanup(b.close)
	user := &gosdk.ClientOptions{ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
		return &gosdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
	}}
	const accepted, cannot = `accept{\"name\":\"Ann\"}`, "cannot ask its user"
	for _, c := range []struct {
		version, tool, want string
		user                *gosdk.ClientOptions
	}{
		{legacy, "ask", accepted, user}, {legacy, "ask_and_do", accepted, user}, {legacy, "ask", cannot, nil},
		{modern, "ask", accepted, user}, {modern, "ask_and_do", cannot, user}, {modern, "ask", cannot, nil},
	} {
		client := (&bench{t: t, dir: b.dir, server: b.server}).dial(c.version, c.user)
		s := client.Selects("INT-001")
		r := check.Value(client.client.CallTool(t.Context(), &gosdk.CallToolParams{Name: c.tool, Arguments: args{"session": s}}))(t)
		text, _ := json.Marshal([]any{r.Content, r.StructuredContent})
		check.That(t, strings.Contains(string(text), c.want), "%s %s: %s", c.version, c.tool, text)
	}
	r := b.server.Do(t.Context(), hooks.Request{Tool: "ask", Arguments: hooks.NoArguments()})
	check.That(t, strings.Contains(r.Text, cannot), "nobody made the call: %s", r.Text)
}

// While a tool that changes nothing waits for the client's user, later calls of its session go on.
func TestWhoIsAskedHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	check.OK(t, b.server.AddHandler(asking("ask", hooks.Safe)))
	b.t.Cleanup(b.close)
	asked, answer := make(chan bool), make(chan bool)
	b.dial(legacy, &gosdk.ClientOptions{ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
		asked <- true
		<-answer
		return &gosdk.ElicitResult{Action: "decline"}, nil
	}})
	s := b.Selects("INT-001")
	done := make(chan error, 1)
	go func() {
		_, err := b.client.CallTool(t.Context(), &gosdk.CallToolParams{Name: "ask", Arguments: args{"session": s}})
		done <- err
	}()
	<-asked
	b.OK("write_to_file", args{"session": s, "path": "src/new.txt", "content": "meanwhile\n"})
	close(answer)
	check.NoError(t, <-done)
}
