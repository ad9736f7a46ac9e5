package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

func TestConfigurationIsChecked(t *testing.T) {
	good := func() mcpbridge.Config {
		return mcpbridge.Config{Name: "n", Version: "1", Handler: newHandler(t), Tools: []mcpbridge.Tool{tool("a")}}
	}
	if _, err := mcpbridge.New(good()); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*mcpbridge.Config){
		"name and a version": func(c *mcpbridge.Config) { c.Version = "" },
		"no handler":         func(c *mcpbridge.Config) { c.Handler = nil },
		"must be unique":     func(c *mcpbridge.Config) { c.Tools = append(c.Tools, tool("a")) },
		"needs a name":       func(c *mcpbridge.Config) { c.Tools[0].Name = "" },
		"input schema":       func(c *mcpbridge.Config) { c.Tools[0].InputSchema = nil },
		"name and a Get":     func(c *mcpbridge.Config) { c.Prompts = []mcpbridge.Prompt{{Name: "p"}} },
		"a name and a Read":  func(c *mcpbridge.Config) { c.Resources = []mcpbridge.Resource{{URI: "x://y", Name: "y"}} },
		"URI template, a name": func(c *mcpbridge.Config) {
			c.ResourceTemplates = []mcpbridge.ResourceTemplate{{URITemplate: "x://{y}"}}
		},
	} {
		config := good()
		spoil(&config)
		_, err := mcpbridge.New(config)
		check.That(t, err != nil && strings.Contains(err.Error(), want), "got %v, want an error saying %q", err, want)
	}
}

// A server without prompts, resources and completion does not claim to have them, and tools are listed in the order
// given.
func TestOnlyWhatIsThereIsOffered(t *testing.T) {
	h := newHandler(t)
	s := check.Value(mcpbridge.New(mcpbridge.Config{Name: "n", Version: "1", Handler: h, Tools: []mcpbridge.Tool{tool("refuse"), tool("echo")}}))(t)
	c := startStdio(t, s, mcpbridge.StdioOptions{})
	c.send(initialize)
	if a := c.read(); !strings.Contains(a.Raw, `"capabilities":{"tools":{}}`) || strings.Contains(a.Raw, "instructions") {
		t.Errorf("got %s", a.Raw)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, callLine(2, "echo", "{}"))
	var list, called answer
	for range 2 {
		if a := c.read(); string(a.ID) == "1" {
			list = a
		} else {
			called = a
		}
	}
	check.That(t, strings.Index(list.Raw, `"refuse"`) <= strings.Index(list.Raw, `"echo"`), "the order is not the given one: %s", list.Raw)
	check.Equal(t, called.text(t), "{}")
}

// A schema that clients drop a tool, or the whole list, for is said where the tools are listed.
func TestBadSchemasAreNotListed(t *testing.T) {
	for want, spoil := range map[string]func(*mcpbridge.Tool){
		`output schema: its root must have`: func(t *mcpbridge.Tool) { t.OutputSchema = schema(`{"anyOf":[]}`) },
		"input schema: not a JSON object":   func(t *mcpbridge.Tool) { t.InputSchema = schema(`[]`) },
		"x-mcp-header": func(t *mcpbridge.Tool) {
			t.InputSchema = schema(`{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}`)
		},
	} {
		bad := tool("a")
		spoil(&bad)
		s := check.Value(mcpbridge.New(mcpbridge.Config{Name: "n", Version: "1", Handler: newHandler(t), Tools: []mcpbridge.Tool{bad}}))(t)
		c := startStdio(t, s, mcpbridge.StdioOptions{}).initialize()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		c.read().wantError(t, "1", -32603, want)
	}
}

// A result that cannot be sent is an error, not a broken message.
func TestBadStructuredResult(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for _, structured := range []string{"", "[1]", "{", "null"} {
		h.tools["rich"] = bad(structured)
		c.send(callLine(1, "rich", "{}"))
		c.read().wantError(t, "1", -32603, "not a JSON object")
	}
}

func bad(structured string) toolFunc {
	return func(context.Context, mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{Text: "x", Structured: json.RawMessage(structured)}
	}
}

// What methods read and quote is small, whatever is sent.
func TestParamsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{}).initialize()
	for i, params := range []string{
		`"method":"resources/read","params":{"uri":"orchestra://` + long + `"}`,
		`"method":"prompts/get","params":{"name":"protocol","arguments":{"intent":"` + long + `"}}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"protocol"},"argument":{"name":"intent","value":"` + long + `"}}`,
		`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/logLevel":"` + long + `"}}`,
	} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, params))
		c.read().wantError(t, fmt.Sprint(i), -32602, "longer than")
	}
	c.send(callLine(9, "echo", `{"a":"`+long+`"}`))
	got := c.read().text(t)
	check.That(t, len(got) >= len(long), "the arguments of a tool came as %d bytes", len(got))
}

// A structured result with line breaks between its tokens is still one message.
func TestResultOfSeveralLinesIsOneMessage(t *testing.T) {
	h := newHandler(t)
	want := mcpbridge.Result{Text: "a\nb <&> \u2028", Structured: json.RawMessage("{\n  \"a\": \"x\\ny\"\r\n}"), IsError: true}
	h.tools["echo"] = func(context.Context, mcpbridge.Call) mcpbridge.Result { return want }
	var out bytes.Buffer
	in := strings.NewReader(initialize + "\n" + callLine(7, "echo", "{}") + "\n")
	check.OK(t, newServer(t, h).ServeStdio(t.Context(), in, &out, mcpbridge.StdioOptions{}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	check.Must(t, len(lines) == 2, "want two answers, got %q", lines)
	var answer struct {
		Result struct {
			Content           []struct{ Type, Text string }
			StructuredContent struct{ A string }
			IsError           bool
		}
	}
	check.OK(t, json.Unmarshal([]byte(lines[1]), &answer))
	r := answer.Result
	if len(r.Content) != 1 || r.Content[0].Text != want.Text || r.Content[0].Type != "text" || r.StructuredContent.A != "x\ny" || !r.IsError {
		t.Errorf("%s", lines[1])
	}
}

// A call of a client that cannot say what it can does not arrive.
func TestCapabilitiesAreRead(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	c.send(strings.Replace(modernLine(1, "echo", "{}"), `clientCapabilities":{}`, `clientCapabilities":{"sampling":7}`, 1))
	c.read().wantError(t, "1", -32602, "clientCapabilities")
	calls := h.calls()
	check.That(t, len(calls) == 0, "%d calls arrived", len(calls))
}

func TestNoProgressAfterTheAnswer(t *testing.T) {
	h := newHandler(t)
	late := make(chan mcpbridge.Call, 1)
	h.tools["progress"] = func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
		late <- call
		return mcpbridge.Result{Text: "done"}
	}
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}`)
	check.Equal(t, c.read().text(t), "done")
	(<-late).Progress("late", 1, 1)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	a := c.read()
	check.That(t, string(a.ID) == "2", "got %s", a.Raw)
}

// TestDocumentedLimits holds the limits in README.md to the constants.
func TestDocumentedLimits(t *testing.T) {
	page := check.Value(os.ReadFile("README.md"))(t)
	for _, part := range mcpbridge.LimitsAsDocumented() {
		check.That(t, strings.Contains(string(page), part), "README.md does not say %q", part)
	}
}
