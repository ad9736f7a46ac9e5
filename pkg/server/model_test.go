package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// model is what the last change of the workspace says of its model.
func (b *bench) model() (id, source string) {
	b.t.Helper()
	who := b.lastRecord(ledger.KindMutation).Contributor
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
				b.ok("write_to_file", args{"session": session, "path": "src/m.txt", "content": strings.Repeat("x\n", n)})
				if id, source := b.model(); id != wantID || source != wantSource {
					t.Errorf("recorded %q from %q, want %q from %q", id, source, wantID, wantSource)
				}
			}
			s := b.selects("INT-001")
			changes(s, "of-environment", "environment")
			b.ok("select_active_intent", args{"session": s, "intent_id": "INT-001", "model": "anthropic/claude-opus-4-5"})
			changes(s, "anthropic/claude-opus-4-5", "argument")
			b.ok("select_active_intent", args{"session": s, "intent_id": "INT-001"})
			changes(s, "anthropic/claude-opus-4-5", "argument")
			n++
			_, err := b.client.CallTool(t.Context(), &mcp.CallToolParams{
				Meta: mcp.Meta{"model": "of-the-call"}, Name: "write_to_file",
				Arguments: args{"session": s, "path": "src/m.txt", "content": strings.Repeat("x\n", n)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if id, source := b.model(); id != "of-the-call" || source != "_meta" {
				t.Errorf("recorded %q from %q", id, source)
			}
			changes(s, "anthropic/claude-opus-4-5", "argument")
		})
	}
	b := start(t, newWorkspace(t)).connect()
	b.ok("write_to_file", args{"session": b.selects("INT-001"), "path": "src/m.txt", "content": "x\n"})
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
		line, err := json.Marshal(json.RawMessage(`{"jsonrpc":"2.0","id":` + string(rune('1'+id)) + `,` + message + `}`))
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
		if id == 0 {
			in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		}
	}
	var out bytes.Buffer
	if err := b.server.ServeStdio(context.Background(), &in, &out); err != nil {
		t.Fatal(err)
	}
	if id, source := b.model(); id != "m-1" || source != "client_info" {
		t.Errorf("recorded %q from %q; answers:\n%s", id, source, out.String())
	}
	b.close()
}
