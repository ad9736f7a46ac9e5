package mcpbridge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// A call of a client that cannot say what it can does not arrive.
func TestCapabilitiesAreRead(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	c.send(strings.Replace(modernLine(1, "echo", "{}"), `clientCapabilities":{}`, `clientCapabilities":{"sampling":7}`, 1))
	c.read().wantError(t, "1", -32602, "clientCapabilities")
	if calls := h.calls(); len(calls) != 0 {
		t.Errorf("%d calls arrived", len(calls))
	}
}

func TestNoProgressAfterTheAnswer(t *testing.T) {
	h := newHandler(t)
	late := make(chan mcpbridge.Call, 1)
	h.tools["progress"] = func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
		late <- call
		return mcpbridge.Result{Text: "done"}
	}
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}`)
	if got := c.read().text(t); got != "done" {
		t.Errorf("got %q", got)
	}
	(<-late).Progress("late", 1, 1)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if a := c.read(); string(a.ID) != "2" {
		t.Errorf("got %s", a.Raw)
	}
}
