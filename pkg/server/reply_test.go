package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/advicetest"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// lastRecord gives the newest record of a kind.
func (b *bench) lastRecord(kind ledger.Kind) ledger.Entry {
	b.t.Helper()
	found, err := b.server.Ledger().Query(context.Background(), ledger.Filter{Kinds: []ledger.Kind{kind}, Limit: 1, Newest: true})
	if err != nil || len(found.Entries) == 0 {
		b.t.Fatalf("no record of kind %s: %v", kind, err)
	}
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
	if err != nil {
		b.t.Fatalf("%s: %v", tool, err)
	}
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
	b.fits(tool, raw)
	if r.Error {
		b.advises(tool, r)
	}
	return r
}

// advises holds a refusal to what an agent can do with it.
func (b *bench) advises(tool string, r reply) {
	b.t.Helper()
	for _, fault := range b.tools.Faults(tool, r.Object) {
		b.t.Errorf("%s: %s", tool, fault)
	}
}

// fits holds an answer to the output schema that its tool declares.
func (b *bench) fits(tool string, structured []byte) {
	b.t.Helper()
	if b.outputs == nil {
		b.outputs, b.tools = map[string]*jsonschema.Schema{}, advicetest.Tools{}
		for _, spec := range b.server.Specs() {
			if spec.OutputSchema != nil {
				b.outputs[spec.Name] = compileSchema(b.t, spec.OutputSchema())
			}
			check.OK(b.t, b.tools.Add(spec.Name, spec.InputSchema()))
		}
	}
	value := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(structured)))(b.t)
	if schema := b.outputs[tool]; schema == nil {
		return
	} else if err := schema.Validate(value); err != nil {
		b.t.Errorf("%s answers against its own output schema: %v\n%s", tool, err, structured)
	}
}

// compiled has the schemas by their texts: compiling those of all tools costs more than a test of a few calls.
var compiled sync.Map

func compileSchema(t *testing.T, source json.RawMessage) *jsonschema.Schema {
	t.Helper()
	if schema, ok := compiled.Load(string(source)); ok {
		return schema.(*jsonschema.Schema)
	}
	document := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(source)))(t)
	compiler := jsonschema.NewCompiler()
	check.OK(t, compiler.AddResource("schema.json", document))
	schema := check.Value(compiler.Compile("schema.json"))(t)
	compiled.Store(string(source), schema)
	return schema
}

// ok demands success.
func (b *bench) ok(tool string, arguments args) reply {
	b.t.Helper()
	r := b.call(tool, arguments)
	if r.Error {
		b.t.Fatalf("%s %v was refused: %s", tool, arguments, r.Text)
	}
	return r
}

// refused demands a refusal with a code.
func (b *bench) refused(code, tool string, arguments args) reply {
	b.t.Helper()
	r := b.call(tool, arguments)
	if !r.Error || r.Object["error_type"] != code {
		b.t.Fatalf("%s %v: want %s, got error=%v %s", tool, arguments, code, r.Error, r.Text)
	}
	var same map[string]any
	if err := json.Unmarshal([]byte(r.Text), &same); err != nil || same["error_type"] != code {
		b.t.Errorf("%s: the text is not the refusal's JSON: %s", tool, r.Text)
	}
	return r
}

func (b *bench) selects(id string) string {
	b.t.Helper()
	return b.ok("select_active_intent", args{"intent_id": id}).str("session")
}

func (r reply) str(key string) string {
	r.t.Helper()
	s, ok := r.Object[key].(string)
	if !ok {
		r.t.Fatalf("no text %q in %v", key, r.Object)
	}
	return s
}

func (r reply) details() map[string]any {
	d, _ := r.Object["details"].(map[string]any)
	return d
}

// ledgerLines are the records of the workspace's ledger.
func (b *bench) ledgerLines() []string {
	b.t.Helper()
	found := check.Value(b.server.Ledger().Query(b.t.Context(), ledger.Filter{}))(b.t)
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
