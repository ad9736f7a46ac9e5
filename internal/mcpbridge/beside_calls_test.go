package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// each has one request of every kind that another server can answer.
var each = []struct{ method, params string }{
	{"tools/call", `"name":"other_call"`}, {"prompts/get", `"name":"other_prompt"`}, {"resources/read", `"uri":"other:"`},
	{"completion/complete", `"ref":{"type":"ref/prompt","name":"other_prompt"},"argument":{"name":"x","value":""}`},
}

// doing has all of these done by one function.
func doing(t testing.TB, do func(ctx context.Context, c mcpbridge.BesideCall) (string, error)) (*handler, *others) {
	h, o := newHandler(t), newOthers()
	h.tools["other_call"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		text, err := do(ctx, mcpbridge.BesideCall{
			Caller: call.Caller, Progress: call.Progress, Log: call.Log, LogLevel: call.LogLevel, Ask: call.Ask, Model: call.Model, Trace: call.Trace,
		})
		if errors.Is(err, mcpbridge.ErrUnanswered) {
			return mcpbridge.Result{Unanswered: true}
		}
		return mcpbridge.Result{Raw: encode(t, map[string]any{"content": []any{}, "said": text})}
	}
	o.answer = func(ctx context.Context, _ string, c mcpbridge.BesideCall) (json.RawMessage, error) {
		text, err := do(ctx, c)
		return encode(t, map[string]any{"said": text}), err
	}
	return h, o
}

// Progress and log messages come on the way of the request that they are of, and before its answer.
func TestBesideProgressAndLog(t *testing.T) {
	h, o := doing(t, func(_ context.Context, c mcpbridge.BesideCall) (string, error) {
		c.Progress("half", 1, 2)
		if c.Log == nil {
			return "no log", nil
		}
		c.Log("debug", "db", json.RawMessage(`"not wanted"`))
		c.Log("warning", "db", json.RawMessage("{\"a\":\n1.0}"))
		c.Log("weird", "", json.RawMessage(`1`)) // which is info
		c.Log("emergency", strings.Repeat("n", 500), json.RawMessage(`"`+strings.Repeat("x", 20<<10)+`"`))
		return "level " + c.LogLevel + " of " + c.Model, nil
	})
	inAllWays(t, h, o, func(t *testing.T, _ *mcpbridge.Server, w way) {
		for i, r := range each {
			w.ask(i, r.method, r.params, `"progressToken":"p"`)
			check.That(t, strings.Contains(w.next().Raw, `"progressToken":"p","progress":1,"total":2,"message":"half"`), "the progress")
			a := w.next()
			check.That(t, strings.Contains(a.Raw, `"said":"no log"`), "nobody asked for a log, and %s", a.Raw)
		}
		if !w.modern {
			w.answered(10, "logging/setLevel", `"level":"loud"`).wantError(t, "10", -32602, "bad log level")
			w.answered(11, "logging/setLevel", ``).wantError(t, "11", -32602, `needs "level"`)
			check.That(t, strings.Contains(w.answered(12, "logging/setLevel", `"level":"warning"`).Raw, `"result":{}`), "the level is set")
		}
		level := []string{`"model":"m"`}
		if w.modern {
			level = append(level, `"io.modelcontextprotocol/logLevel":"warning"`)
			w.answered(10, "logging/setLevel", `"level":"warning"`).wantError(t, "10", -32601, "not served")
			w.answered(11, "tools/call", each[0].params, `"io.modelcontextprotocol/logLevel":"loud"`).wantError(t, "11", -32602, "bad log level")
			w.answered(12, "prompts/get", each[1].params, `"io.modelcontextprotocol/logLevel":3`).wantError(t, "12", -32602, "bad log level")
		}
		for i, r := range each {
			w.ask(20+i, r.method, r.params, level...)
			a := w.next()
			check.That(t, a.Method == "notifications/message" && strings.Contains(a.Raw, `"params":{"level":"warning","logger":"db","data":{"a":1.0}}`), "%s", a.Raw)
			a = w.next()
			check.That(t, strings.Contains(a.Raw, `"level":"emergency"`) && strings.Contains(a.Raw, "20482 bytes") && len(a.Raw) < 500, "%s", a.Raw)
			a = w.next()
			check.That(t, strings.Contains(a.Raw, `"said":"level warning of m"`), "%s", a.Raw)
		}
	})
}

// Log messages are bounded, and what was left out is said; nothing comes after the answer.
func TestLogMessagesAreBounded(t *testing.T) {
	var late func(level, logger string, data json.RawMessage)
	h, o := doing(t, func(_ context.Context, c mcpbridge.BesideCall) (string, error) {
		late = c.Log
		for range 100_000 {
			c.Log("info", "", json.RawMessage(`0`))
		}
		c.Log("info", "", json.RawMessage(`{`))
		return "done", nil
	})
	inAllWays(t, h, o, func(t *testing.T, _ *mcpbridge.Server, w way) {
		if !w.modern {
			w.answered(1, "logging/setLevel", `"level":"debug"`)
		}
		w.ask(2, "prompts/get", each[1].params, `"io.modelcontextprotocol/logLevel":"debug"`)
		messages := 0
		a := w.next()
		for ; strings.Contains(a.Raw, `"level":"info"`); a = w.next() {
			messages++
		}
		check.That(t, messages >= 100 && messages < 10_000, "%d messages", messages)
		check.That(t, strings.Contains(a.Raw, `"level":"warning"`) && strings.Contains(a.Raw, "log messages were left out"), "%s", a.Raw)
		check.Equal(t, string(w.next().ID), "2")
		late("emergency", "", json.RawMessage(`0`))
		w.ask(3, "tools/list", "")
		check.Equal(t, string(w.next().ID), "3")
	})
}

// A request that its client gives up, or leaves, is told so.
func TestBesideCancel(t *testing.T) {
	for _, r := range each {
		t.Run(r.method, func(t *testing.T) {
			running, ended := make(chan string, 1), make(chan string, 1)
			h, o := doing(t, func(ctx context.Context, c mcpbridge.BesideCall) (string, error) {
				running <- "running"
				<-ctx.Done()
				c.Progress("late", 1, 1)
				ended <- "ended"
				return "", ctx.Err()
			})
			inAllWays(t, h, o, func(t *testing.T, _ *mcpbridge.Server, w way) {
				go w.ask(7, r.method, r.params, `"progressToken":"p"`) // which on some ways is answered first
				receive(t, running, "running")
				w.cancel(7)
				receive(t, ended, "ended")
				if w.modern && w.over == "HTTP" {
					return // all was closed
				}
				w.ask(8, "tools/list", "")
				check.Equal(t, string(w.next().ID), "8")
			})
		})
	}
}

// Who serves a prompt or a resource can ask the client's user, as tools can; completions cannot.
func TestBesideAsk(t *testing.T) {
	h, o := doing(t, func(ctx context.Context, c mcpbridge.BesideCall) (string, error) {
		reply, err := c.Ask(ctx, "name", question("name"))
		if err != nil {
			return "no answer", err
		}
		return fmt.Sprintf("%s %s", reply.Action, reply.Content), nil
	})
	inAllWays(t, h, o, func(t *testing.T, _ *mcpbridge.Server, w way) {
		for i, r := range each[:3] {
			message := w.canAsk(w.message(i, r.method, r.params))
			if !w.modern {
				go w.send(message)
				w.reply(w.question(), `"result":{"action":"accept","content":{"name":"ann","more":1}}`)
				a := w.next()
				check.That(t, strings.Contains(a.Raw, `"said":"accept {\"name\":\"ann\"}"`), "%s", a.Raw)
				continue
			}
			w.send(message)
			a := w.next()
			check.That(t, strings.Contains(a.Raw, `"resultType":"input_required"`) && strings.Contains(a.Raw, `"inputRequests":{"name":`), "%s", a.Raw)
			carried := state(t, a, "name")
			again := func(id int, method, params, state string) answer {
				w.send(w.canAsk(w.message(id, method, params+`,"requestState":`+string(encode(t, state))+`,"inputResponses":{"name":{"action":"accept","content":{"name":"ann"}}}`)))
				return w.next()
			}
			a = again(10+i, r.method, r.params, carried)
			check.That(t, strings.Contains(a.Raw, `"said":"accept {\"name\":\"ann\"}"`), "%s", a.Raw)
			// The state is of that request alone.
			other := each[(i+1)%3]
			again(20+i, other.method, other.params, carried).wantError(t, fmt.Sprint(20+i), -32602, "it is of another call")
			// Who cannot ask is told so.
			a = w.answered(30+i, r.method, r.params)
			check.That(t, !strings.Contains(a.Raw, "inputRequests"), "%s", a.Raw)
		}
		w.send(w.canAsk(w.message(40, each[3].method, each[3].params)))
		w.next().wantError(t, "40", -32603, "cannot ask")
	})
}

// Calls that hang in other servers keep nobody from what is ours.
func TestBesideThatHangs(t *testing.T) {
	running := make(chan string, 200)
	h, o := doing(t, func(ctx context.Context, _ mcpbridge.BesideCall) (string, error) {
		running <- "running"
		<-ctx.Done()
		return "", ctx.Err()
	})
	config := bridgeConfig(h)
	config.Beside = o
	c := startStdio(t, check.Value(mcpbridge.New(config))(t), mcpbridge.StdioOptions{}).initialize()
	w := way{}
	for i := range 100 {
		c.send(w.message(i, each[i%4].method, each[i%4].params))
	}
	for range 64 {
		receive(t, running, "running")
	}
	c.send(callLine(1000, "whoami", `{}`))
	check.Equal(t, string(c.read().ID), "1000")
	c.send(w.message(1001, "prompts/get", `"name":"protocol"`))
	check.Equal(t, string(c.read().ID), "1001")
	c.send(w.message(1002, "tools/list", ``))
	check.Equal(t, string(c.read().ID), "1002")
}
