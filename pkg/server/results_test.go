package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/advicetest"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func shortTexts(o *server.Options) { o.Settings.Results.Text = settings.Short }

func structured(t *testing.T, r reply) int {
	t.Helper()
	raw := check.Value(json.Marshal(r.Object))(t)
	return len(raw)
}

// Who is shown the first lines alone learns the session, however long the intent's name is.
func TestShortTextHasTheSession(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - id: INT-001\n    name: "+strings.Repeat("long ", 60)+"\n    owned_scope: [\"src/**\"]\n")
	r := start(t, dir, shortTexts).connect().OK("select_active_intent", args{"intent_id": "INT-001"})
	check.That(t, strings.Contains(r.Text, r.Str("session")) && strings.Contains(r.Text, "in structuredContent"), "%s", r.Text)
}

// A client that shows its model only structuredContent shows it line numbers and
// images; one that shows both pays once if the settings say so.
func TestStructuredContentStandsAlone(t *testing.T) {
	t.Parallel()
	const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
	var large strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&large, "line %d of a file that is read as a whole\n", i)
	}
	for name, short := range map[string]bool{"full": false, "short": true} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, "src/large.txt", large.String())
			check.Write(t, dir, "src/dot.png", png)
			b := start(t, dir, func(o *server.Options) {
				if short {
					shortTexts(o)
				}
			}).connect()
			small := b.OK("read_file", args{"path": "src/a.txt"})
			if small.Str("content") != "one\ntwo\nthree\n" || small.Str("numbered") != "1 | one\n2 | two\n3 | three\n" || !strings.Contains(small.Text, "2 | two") {
				t.Errorf("%v", small.Object)
			}
			some := b.OK("read_file", args{"path": "src/large.txt", "limit": 50})
			check.That(t, (some.Object["content"] == nil) == short && strings.Contains(some.Str("numbered"), "49 of a file"), "2 KiB: %.300v", some.Object)
			r := b.OK("read_file", args{"path": "src/large.txt"})
			check.That(t, strings.HasPrefix(r.Str("numbered"), "   1 | line 0") && r.Object["content"] == nil, "a large result: %.300v", r.Object)
			if size := structured(t, r); size > large.Len()*5/4 {
				t.Errorf("%d bytes of structured content for %d", size, large.Len())
			}
			wants := strings.Contains(r.Text, "999 of a file")
			check.That(t, wants != short && (!short || len(r.Text) <= 500), "%d bytes of text", len(r.Text))
			image := b.OK("read_file", args{"path": "src/dot.png"})
			check.Equal(t, string(image.Image), png, "no image beside the text: %v", image.Object)
			view, _ := image.Object["image"].(map[string]any)
			data, _ := view["data"].(string)
			check.That(t, (data == base64.StdEncoding.EncodeToString([]byte(png)) && view["mimeType"] == "image/png") != short,
				"the image in structured content: %v", image.Object)
			refused := b.Refused("READ_REQUIRED", "apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: src/b.txt\n*** End Patch", "session": unread(t, b, large.String())})
			check.That(t, refused.Details()["content"] != nil, "the refusal: %v", refused.Object)
			refused.Twice()
		})
	}
}

// What a handler of others says in words need not be in its structured content, so it is not cut.
func TestWordsOfOthersAreNotCut(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), shortTexts)
	words := strings.Repeat("in words alone\n", 100)
	check.OK(t, b.server.AddHandler(server.Handler{Tool: foreign("tell", "{}"), Class: hooks.Safe,
		Handle: func(context.Context, mcpbridge.ForeignRequest) (*mcpbridge.ForeignResult, error) {
			result := new(mcpbridge.ForeignResult)
			encoded, err := json.Marshal(args{"content": []args{{"type": "text", "text": words}}, "structuredContent": args{"n": 1}})
			return result, errors.Join(err, json.Unmarshal(encoded, result))
		},
	}))
	b.connect()
	check.Equal(t, b.OK("tell", args{"session": b.Selects("INT-001")}).Text, words)
}

// unread puts a file where no session has read it, and selects an intent.
func unread(t *testing.T, b *bench, content string) string {
	t.Helper()
	check.Write(t, b.dir, "src/b.txt", content)
	return b.Selects("INT-001")
}

// Matches beside each other share their context, which is given once: a search
// that finds every line costs no more than the file, in each form.
func TestSearchGivesContextOnce(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/s.txt", "0\nhit 1\nhit 2\n3\nhit 4\n5\n-\n6\nhit 7\n")
	var large strings.Builder
	for i := range 250 {
		fmt.Fprintf(&large, "wanted, in line %d: %s\n", i, strings.Repeat("x", 200))
	}
	check.Write(t, dir, "src/t.txt", large.String())
	b := start(t, dir).connect()
	r := b.OK("search_files", args{"regex": "hit", "path": "src"})
	want := "# src/s.txt\n     1   0\n     2 > hit 1\n     3 > hit 2\n     4   3\n     5 > hit 4\n     6   5\n----\n     8   6\n     9 > hit 7"
	check.Equal(t, r.Text, want, "got\n")
	seen := map[string]int{}
	for _, m := range r.Object["matches"].([]any) {
		match := m.(map[string]any)
		for _, lines := range []any{match["before"], []any{match["text"]}, match["after"]} {
			list, _ := lines.([]any)
			for _, line := range list {
				seen[line.(string)]++
			}
		}
	}
	check.Equal(t, len(seen), 8)
	for line, n := range seen {
		check.Equal(t, n, 1, "%q is given", line)
	}
	r = b.OK("search_files", args{"regex": "wanted", "path": "src"})
	if size := structured(t, r); len(r.Text) > large.Len()*5/4 || size > large.Len()*3/2 {
		t.Errorf("%d bytes of text and %d of structured content for a file of %d", len(r.Text), size, large.Len())
	}
}

// model is what the last change of the workspace says of its model.
func (b *bench) model() (id, source string) {
	b.t.Helper()
	who := b.lastRecord(record.KindMutation).Contributor
	return who.ModelID, who.ModelSource
}

// The model is recorded with where it was told: what a call says of itself before what the agent said when it selected,
// that before the client's environment. It is unknown only where nobody said.
func TestModelIsRecordedWithItsSource(t *testing.T) {
	t.Parallel()
	environment := func(o *server.Options) {
		o.ModelOf = func(client string) string {
			if client == "test" {
				return "of-environment"
			}
			return ""
		}
	}
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			b := start(t, newWorkspace(t), environment).connectAs(era)
			n := 0
			changes := func(session, wantID, wantSource string) {
				t.Helper()
				n++
				b.OK("write_to_file", args{"session": session, "path": "src/m.txt", "content": strings.Repeat("x\n", n)})
				id, source := b.model()
				check.That(t, id == wantID && source == wantSource, "recorded %q from %q, want %q from %q", id, source, wantID, wantSource)
			}
			s := b.Selects("INT-001")
			changes(s, "of-environment", "environment")
			b.OK("select_active_intent", args{"session": s, "intent_id": "INT-001", "model": "anthropic/claude-opus-4-5"})
			changes(s, "anthropic/claude-opus-4-5", "argument")
			b.OK("select_active_intent", args{"session": s, "intent_id": "INT-001"})
			changes(s, "anthropic/claude-opus-4-5", "argument")
			n++
			check.Value(b.client.CallTool(t.Context(), &mcp.CallToolParams{
				Meta: mcp.Meta{"model": "of-the-call"}, Name: "write_to_file",
				Arguments: args{"session": s, "path": "src/m.txt", "content": strings.Repeat("x\n", n)},
			}))(t)
			if id, source := b.model(); id != "of-the-call" || source != "_meta" {
				t.Errorf("recorded %q from %q", id, source)
			}
			changes(s, "anthropic/claude-opus-4-5", "argument")
		})
	}
	b := start(t, newWorkspace(t)).connect()
	b.OK("write_to_file", args{"session": b.Selects("INT-001"), "path": "src/m.txt", "content": "x\n"})
	if id, source := b.model(); id != "" || source != "" {
		t.Errorf("nobody said, and %q from %q was recorded", id, source)
	}
	b.wantRecord(`"model_identifier":"unknown"`, "src/m.txt")
}

// A client may name its model where it names itself.
func TestModelOfClientInfo(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	var in bytes.Buffer
	for id, message := range []string{
		`"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1","model":"m-1"}}`,
		`"method":"tools/call","params":{"name":"select_active_intent","arguments":{"intent_id":"INT-001"}}`,
		`"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"src/m.txt","content":"x\n"}}`,
	} {
		line := check.Value(json.Marshal(json.RawMessage(`{"jsonrpc":"2.0","id":` + string(rune('1'+id)) + `,` + message + `}`)))(t)
		in.Write(append(line, '\n'))
		if id == 0 {
			in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		}
	}
	var out bytes.Buffer
	check.OK(t, b.server.ServeStdio(context.Background(), &in, &out))
	if id, source := b.model(); id != "m-1" || source != "client_info" {
		t.Errorf("recorded %q from %q; answers:\n%s", id, source, out.String())
	}
	b.close()
}

// lastRecord gives the newest record of a kind.
func (b *bench) lastRecord(kind record.Kind) record.Entry {
	b.t.Helper()
	found, err := b.server.Ledger().Query(context.Background(), record.Filter{Kinds: []record.Kind{kind}, Limit: 1, Newest: true})
	check.Must(b.t, err == nil && len(found.Entries) != 0, "no record of kind %s: %v", kind, err)
	return b.withTaken(found.Entries[0])
}

// withTaken is the record of a command with what was taken over of its layer, which is a record of its own.
func (b *bench) withTaken(e record.Entry) record.Entry {
	b.t.Helper()
	if e.Kind != record.KindCommand || e.Detail["staged"] == nil {
		return e
	}
	found, err := b.server.Ledger().Query(context.Background(), record.Filter{Kinds: []record.Kind{record.KindMutation}})
	check.OK(b.t, err)
	for _, taken := range found.Entries {
		if taken.Detail["ran"] == e.ID {
			e.Changes, e.Class, e.MutationClass = taken.Changes, taken.Class, taken.MutationClass
			for key, value := range taken.Detail {
				e.Detail[key] = value
			}
		}
	}
	return e
}

type (
	args  = agenttest.Args
	reply = agenttest.Answer
)

// send calls a tool, and holds the answer to what the tool promises.
func (b *bench) send(tool string, arguments args) (json.RawMessage, error) {
	b.t.Helper()
	result, err := b.client.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	b.fits(tool, check.Value(json.Marshal(result.StructuredContent))(b.t), result.IsError)
	return json.Marshal(result)
}

func (b *bench) fits(tool string, structured []byte, refused bool) {
	b.t.Helper()
	if b.promises == nil {
		b.promises = advicetest.NewAnswers()
		for _, spec := range b.server.Specs() {
			check.OK(b.t, b.promises.Add(spec.Name, spec.InputSchema.JSON(), spec.OutputSchema.JSON(), spec.ResultSchema.JSON()))
		}
	}
	for _, fault := range b.promises.Faults(tool, structured, refused) {
		b.t.Errorf("%s: %s", tool, fault)
	}
}

func (b *bench) wantRecord(parts ...string) {
	b.t.Helper()
	lines := b.ledgerLines()
	check.That(b.t, len(agenttest.Having(lines, parts...)) > 0, "no record has %q:\n%s", parts, strings.Join(lines, "\n"))
}

// under is connect with an intent selected, and its handle.
func (b *bench) under(id string) (*bench, string) {
	b.t.Helper()
	b.connect()
	return b, b.Selects(id)
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

func withoutSandbox(o *server.Options) {
	ownUser(o)
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
