package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/advicetest"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// lastRecord gives the newest record of a kind.
func (b *bench) lastRecord(kind record.Kind) record.Entry {
	b.t.Helper()
	found, err := b.server.Ledger().Query(context.Background(), record.Filter{Kinds: []record.Kind{kind}, Limit: 1, Newest: true})
	check.Must(b.t, err == nil && len(found.Entries) != 0, "no record of kind %s: %v", kind, err)
	return found.Entries[0]
}

type args map[string]any

// reply is a tool's answer.
type reply struct {
	t      *testing.T
	Text   string
	Image  []byte
	Error  bool
	Object map[string]any
}

func (b *bench) call(tool string, arguments args) reply {
	b.t.Helper()
	result, err := b.client.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	check.Must(b.t, err == nil, "%s: %v", tool, err)
	r := reply{t: b.t, Error: result.IsError}
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			r.Text += text.Text
		}
		if image, ok := c.(*mcp.ImageContent); ok {
			r.Image = image.Data
		}
	}
	raw := check.Value(json.Marshal(result.StructuredContent))(b.t)
	if err := json.Unmarshal(raw, &r.Object); err != nil {
		b.t.Fatalf("%s: structuredContent is no object: %s", tool, raw)
	}
	b.fits(tool, raw, r.Error)
	return r
}

// fits holds an answer to what its tool promises.
func (b *bench) fits(tool string, structured []byte, refused bool) {
	b.t.Helper()
	if b.promises == nil {
		b.promises = advicetest.NewAnswers()
		for _, spec := range b.server.Specs() {
			var output []byte
			if spec.OutputSchema != nil {
				output = spec.OutputSchema()
			}
			check.OK(b.t, b.promises.Add(spec.Name, spec.InputSchema(), output))
		}
	}
	for _, fault := range b.promises.Faults(tool, structured, refused) {
		b.t.Errorf("%s: %s", tool, fault)
	}
}

// ok demands success.
func (b *bench) ok(tool string, arguments args) reply {
	b.t.Helper()
	r := b.call(tool, arguments)
	check.Must(b.t, !r.Error, "%s %v was refused: %s", tool, arguments, r.Text)
	return r
}

// refused demands a refusal with a code.
func (b *bench) refused(code, tool string, arguments args) reply {
	b.t.Helper()
	r := b.call(tool, arguments)
	check.Must(b.t, r.Error && r.Object["error_type"] == code, "%s %v: want %s, got error=%v %s", tool, arguments, code, r.Error, r.Text)
	var same map[string]any
	err := json.Unmarshal([]byte(r.Text), &same)
	check.That(b.t, err == nil && same["error_type"] == code, "%s: the text is not the refusal's JSON: %s", tool, r.Text)
	return r
}

func (b *bench) selects(id string) string {
	b.t.Helper()
	return b.ok("select_active_intent", args{"intent_id": id}).str("session")
}

// under is connect with an intent selected, and its handle.
func (b *bench) under(id string) (*bench, string) {
	b.t.Helper()
	b.connect()
	return b, b.selects(id)
}

func (r reply) str(key string) string {
	r.t.Helper()
	s, ok := r.Object[key].(string)
	check.Must(r.t, ok, "no text %q in %v", key, r.Object)
	return s
}

func (r reply) details() map[string]any {
	d, _ := r.Object["details"].(map[string]any)
	return d
}

// ledgerLines are the records of the workspace's ledger.
func (b *bench) ledgerLines() []string {
	b.t.Helper()
	found := check.Value(b.server.Ledger().Query(b.t.Context(), record.Filter{}))(b.t)
	var lines []string
	for _, e := range found.Entries {
		lines = append(lines, string(e.Raw))
	}
	return lines
}

func (b *bench) wantRecord(parts ...string) {
	b.t.Helper()
	lines := b.ledgerLines()
next:
	for _, line := range lines {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		return
	}
	b.t.Errorf("no record has %q:\n%s", parts, strings.Join(lines, "\n"))
}

func withoutSandbox(o *server.Options) {
	o.Settings.Sandbox = "off"
	o.Settings.Commands.Unjudged = "allow"
}

// patch makes a patch of its lines.
func patch(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

// patched is a workspace of the given files with a session that owns all of it.
func patched(t *testing.T, files map[string]string) (*bench, func(lines ...string) args) {
	t.Helper()
	dir := newWorkspace(t)
	for name, content := range files {
		check.Write(t, dir, name, content)
	}
	b, s := start(t, dir).under("INT-005")
	return b, func(lines ...string) args { return args{"session": s, "patch": patch(lines...)} }
}

// holds demands the content of files; "" is a file that is not there.
func (b *bench) holds(files map[string]string) {
	b.t.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(b.dir, name))
		check.That(b.t, (want != "" || err != nil) && (want == "" || string(got) == want), "%s is %q, want %q", name, got, want)
	}
}
