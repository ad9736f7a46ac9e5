package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// neighbours are other servers behind the example: one tool that has the lists change, and a prompt that is logged about.
type neighbours struct {
	server  atomic.Pointer[mcpbridge.Server]
	changed atomic.Bool
}

var _ mcpbridge.Beside = (*neighbours)(nil)

func definitions(texts ...string) (list []json.RawMessage, err error) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list, nil
}

func (n *neighbours) Tools(context.Context) ([]json.RawMessage, error) {
	list := []string{`{"name":"beside_change","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"icons":[{"src":"data:,"}],"unknown":1}`}
	if n.changed.Load() {
		list = append(list, `{"name":"beside_new","inputSchema":{"type":"object"}}`)
	}
	return definitions(list...)
}

func (n *neighbours) Prompts(context.Context) ([]json.RawMessage, error) {
	return definitions(`{"name":"beside_prompt","arguments":[{"name":"x"}]}`)
}
func (n *neighbours) Resources(context.Context) ([]json.RawMessage, error) { return nil, nil }
func (n *neighbours) ResourceTemplates(context.Context) ([]json.RawMessage, error) {
	return definitions(`{"uriTemplate":"beside+file:///{x}","name":"files"}`)
}

func (n *neighbours) HasTool(name string) bool { return strings.HasPrefix(name, "beside_") }

// change is a call of the tool; each is another change for whoever listens.
func (n *neighbours) change(call mcpbridge.Call) mcpbridge.Result {
	n.changed.Store(true)
	n.server.Load().ListChanged("tools")
	if call.Log != nil {
		call.Log("warning", "neighbour", json.RawMessage(`{"said":"changed"}`))
	}
	return mcpbridge.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"changed"}],"structuredContent":[1],"unknown":{"a":1}}`)}
}

func (n *neighbours) GetPrompt(_ context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	return json.RawMessage(fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":%q}}]}`, c.Params)), nil
}

func (n *neighbours) ReadResource(context.Context, mcpbridge.BesideCall) (json.RawMessage, error) {
	return json.RawMessage(`{"contents":[{"uri":"beside+file:///x","text":"read"}]}`), nil
}

func (n *neighbours) Complete(context.Context, mcpbridge.BesideCall) (json.RawMessage, error) {
	return json.RawMessage(`{"completion":{"values":["one"]}}`), nil
}

// The official TypeScript clients list what other servers have, use it, and hear of what changes and is logged.
func TestTypeScriptClientsFollowLists(t *testing.T) {
	driveExample(t, func(t *testing.T, connect func(driver) *typescript) {
		c := connect(driver{Follows: true})
		isModern := c.greeting.ProtocolVersion == modern
		var listed struct {
			Tools []struct{ Name string }
		}
		raw, err := c.request("listTools", args{})
		check.OK(t, err)
		check.OK(t, json.Unmarshal(raw, &listed))
		check.Equal(t, listed.Tools[len(listed.Tools)-1].Name, "beside_change")

		call := args{"name": "beside_change", "arguments": args{}}
		if isModern {
			call["_meta"] = args{"io.modelcontextprotocol/logLevel": "info"}
		} else {
			_, err := c.request("setLoggingLevel", "info")
			check.OK(t, err)
		}
		raw, err = c.request("callTool", call)
		check.Equal(t, toolText(t, raw, err), "changed")
		var list []string
		var logged string
		for list == nil || logged == "" {
			switch line := <-c.heard; {
			case line.Changed == "tools":
				list = line.Listed
			case line.Logged != nil:
				logged = string(line.Logged)
			}
		}
		check.That(t, slices.Contains(list, "beside_new") && slices.Contains(list, "ask"), "%v", list)
		check.That(t, strings.Contains(logged, `"said":"changed"`), "%s", logged)

		for _, r := range []struct {
			method string
			params args
			want   string
		}{
			{"getPrompt", args{"name": "beside_prompt", "arguments": args{"x": "y"}}, `beside_prompt`},
			{"readResource", args{"uri": "beside+file:///x"}, `"text":"read"`},
			{"complete", args{"ref": args{"type": "ref/prompt", "name": "beside_prompt"}, "argument": args{"name": "x", "value": ""}}, `"values":["one"]`},
		} {
			raw, err := c.request(r.method, r.params)
			check.OK(t, err)
			check.That(t, strings.Contains(string(raw), r.want), "%s: %s", r.method, raw)
		}
	})
}
