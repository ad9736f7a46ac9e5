package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// resource reads a resource that must be there.
func (b *bench) resource(uri string) string {
	b.t.Helper()
	r, err := b.client.ReadResource(b.t.Context(), &mcp.ReadResourceParams{URI: uri})
	check.Must(b.t, err == nil, "%s: %v", uri, err)
	check.Must(b.t, len(r.Contents) == 1 && r.Contents[0].URI == uri, "%s: %v", uri, r.Contents)
	return r.Contents[0].Text
}

// noResource demands an error that does not quote what it must not.
func (b *bench) noResource(uri, hidden string) {
	b.t.Helper()
	r, err := b.client.ReadResource(b.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err == nil {
		b.t.Errorf("%s can be read: %v", uri, r.Contents[0].Text)
	} else if hidden != "" && strings.Contains(err.Error(), hidden) {
		b.t.Errorf("%s: the error quotes a secret: %v", uri, err)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			dir := newWorkspace(t)
			b := start(t, dir).connectAs(era)
			listed := check.Value(b.client.ListResources(t.Context(), nil))(t)
			var uris []string
			for _, r := range listed.Resources {
				uris = append(uris, r.URI)
			}
			check.That(t, slices.Equal(uris, []string{"orchestra://brain", "orchestra://intents", "orchestra://ledger/recent"}),
				"resources: %v", uris)
			var intents []map[string]any
			err := json.Unmarshal([]byte(b.resource("orchestra://intents")), &intents)
			check.That(t, err == nil && len(intents) == 5 && intents[0]["id"] == "INT-001", "intents: %v %v", intents, err)
			var one map[string]any
			if err := json.Unmarshal([]byte(b.resource("orchestra://intent/INT-001")), &one); err != nil || one["description"] != "Serve the weather." {
				t.Errorf("intent: %v %v", one, err)
			}
			check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - id: INT-001\n    commands: {deny: [rm], network: deny}\n    rules: [{name: r, when: 'false', message: m}]\n    verify: [make check]\n    started_at: 2026-02-18T18:30:00Z\n")
			whole := b.resource("orchestra://intent/INT-001")
			for _, part := range []string{`"commands":{"deny":["rm"],"network":"deny"}`, `"rules":[{"name":"r","when":"false","action":"refuse","message":"m"}]`,
				`"verify":["make check"]`, `"started_at":"2026-02-18T18:30:00Z"`, `"status":"IN_PROGRESS"`} {
				check.That(t, strings.Contains(whole, part), "the intent lacks %s: %s", part, whole)
			}
			for _, id := range []string{"INT-999", "..%2F..%2Fetc%2Fpasswd", ""} {
				b.noResource("orchestra://intent/"+id, "")
			}
			check.Equal(t, b.resource("orchestra://brain"), "", "no brain, yet")
			check.Write(t, dir, ".orchestration/AGENT.md", "## Decision (2026-01-01)\nTabs.\n")
			brain := b.resource("orchestra://brain")
			check.That(t, strings.Contains(brain, "Tabs."), "brain: %q", brain)
			s := b.selects("INT-001")
			b.ok("write_to_file", args{"session": s, "path": "src/n.txt", "content": "SECRET CONTENT\n"})
			recent := b.resource("orchestra://ledger/recent")
			first, _, _ := strings.Cut(recent, "\n")
			check.That(t, strings.Contains(first, `"path":"src/n.txt"`), "the newest record is not first:\n%s", recent)
			check.That(t, !strings.Contains(recent, "SECRET CONTENT") && !strings.Contains(recent, s), "the ledger tells a content or a handle")
		})
	}
}

// A brain at a secret path, also through a link, or outside the workspace is
// out of reach for the resource and for every tool that reads it.
func TestBrainKeepsSecrets(t *testing.T) {
	t.Parallel()
	for name, brain := range map[string]string{"secret": "keys.secret", "through a link": "brain.md", "outside": "../brain.md", "a directory": "src"} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, ".intentignore", "secret:*.secret\n")
			check.Write(t, dir, "keys.secret", "## Decision (2026-01-01)\nTOP SECRET\n")
			link(t, "keys.secret", dir+"/brain.md")
			b := start(t, dir, func(o *server.Options) { o.Settings.Brain.File = brain }).connect()
			b.noResource("orchestra://brain", "TOP")
			r := b.call("query_lessons", args{})
			check.That(t, r.Error && r.Object["error_type"] != "INTERNAL_ERROR" && !strings.Contains(r.Text, "TOP"), "query_lessons: %s", r.Text)
			c := b.ok("select_active_intent", args{"intent_id": "INT-001"})
			check.That(t, !strings.Contains(c.Text, "TOP"), "the context quotes a secret:\n%s", c.Text)
		})
	}
}

// The prompt, the instructions and completion name the intents now available.
func TestPromptAndInstructions(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, ".intentignore", "intent:INT-002\n")
			b := start(t, dir).connectAs(era)
			prompt := check.Value(b.client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "intent_driven_protocol", Arguments: map[string]string{"intent_id": "INT-001"}}))(t)
			texts := map[string]string{"prompt": prompt.Messages[0].Content.(*mcp.TextContent).Text, "instructions": b.client.InitializeResult().Instructions}
			for name, text := range texts {
				for _, part := range []string{"select_active_intent", "`session`", "before an intent is selected", "INT-001", "Build Weather API", "INT-005"} {
					check.That(t, strings.Contains(text, part), "the %s lacks %q:\n%s", name, part, text)
				}
				for _, part := range []string{"INT-002", "INT-003", "INT-004"} {
					check.That(t, !strings.Contains(text, part), "the %s offers %s", name, part)
				}
			}
			for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "intent_driven_protocol"}, {Type: "ref/resource", URI: "orchestra://intent/{id}"}} {
				argument := "intent_id"
				if ref.URI != "" {
					argument = "id"
				}
				done, err := b.client.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: argument, Value: "INT-00"}})
				check.That(t, err == nil && slices.Equal(done.Completion.Values, []string{"INT-001", "INT-005"}), "%v: %v %v", ref, done, err)
			}
		})
	}
}
