package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// driveExample connects a client to the example server in each way that the SDKs have, for a user who can be asked.
func driveExample(t *testing.T, test func(t *testing.T, connect func(driver) *typescript)) {
	for _, way := range []struct {
		name, transport, path string
		sdk                   int
		pin                   string
		short                 bool
	}{
		{"1/stdio", "stdio", "", 1, "", true}, {"1/http", "http", "/mcp", 1, "", false}, {"1/sse", "sse", "/sse", 1, "", false},
		{"2/stdio", "stdio", "", 2, "", false}, {"2/http", "http", "/mcp", 2, "", false}, {"2/sse", "sse", "/sse", 2, "", true},
		{"2/stdio/modern", "stdio", "", 2, modern, true}, {"2/http/modern", "http", "/mcp", 2, modern, true},
	} {
		if !check.Long() && !way.short {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			test(t, func(d driver) *typescript {
				w := &workspace{t: t, home: t.TempDir()}
				d.SDK, d.Pin, d.Transport = way.sdk, way.pin, way.transport
				if way.transport == "stdio" {
					d.Command, d.Env = os.Args[0], w.env(serveExample+"=1")
				} else {
					e := serveExampleHTTP(t)
					d.URL, d.Token = e.url+way.path, e.token
				}
				return w.drive(d)
			})
		})
	}
}

// toolText is the text of a tool's result.
func toolText(t *testing.T, raw json.RawMessage, err error) string {
	t.Helper()
	check.OK(t, err)
	var result struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) == 0 {
		t.Fatalf("no result: %v %s", err, raw)
	}
	return result.Content[0].Text
}

func asking(n int) args { return args{"name": "ask", "arguments": args{"n": n}} }

// manyForms stand open at once.
const manyForms = 50

// The official TypeScript clients show the form, and bring back what was done
// with it. What does not fit it is no answer, and each of many has its own.
func TestTypeScriptClientsAnswer(t *testing.T) {
	driveExample(t, func(t *testing.T, connect func(driver) *typescript) {
		shown, tell := make(chan form, manyForms), make(chan reply, manyForms)
		c := connect(driver{User: onceTold(shown, tell)})
		for i, test := range []struct {
			reply reply
			want  string
		}{
			{accepts(args{"decision": "approve_once"}), "accept approve_once"},
			{accepts(args{"decision": "deny", "reason": "not now"}), "accept deny not now"},
			{reply{Action: "decline"}, "decline"},
			{reply{Action: "cancel"}, "cancel"},
		} {
			tell <- test.reply
			raw, err := c.request("callTool", asking(i))
			check.Equal(t, toolText(t, raw, err), test.want)
			f := <-shown
			if want := fmt.Sprintf(`May it? {"n":%d}`, i); f.message != want || !strings.Contains(string(f.schema), "Allow for this intent") {
				t.Errorf("shown: %+v", f)
			}
		}
		for i, r := range []reply{
			accepts(nil), accepts(args{"decision": "yes"}), accepts(args{"decision": true}), accepts(args{"decision": "approve_once", "also": "x"}),
		} {
			tell <- r
			// Some clients refuse to send it, and their call fails.
			raw, err := c.request("callTool", asking(i))
			<-shown
			check.That(t, err != nil || strings.HasPrefix(toolText(t, raw, nil), "error: "), "%v counts as an answer: %s", r.Content, raw)
		}
		standOpen(t, c, shown, tell)
	})
}

// A client that cannot show forms is not sent one.
func TestClientsWithoutFormsAreNotAsked(t *testing.T) {
	driveExample(t, func(t *testing.T, connect func(driver) *typescript) {
		for _, elicitation := range []any{args{"url": args{}}, nil}[:check.Rounds(1, 2)] {
			c := connect(driver{Elicitation: elicitation})
			raw, err := c.request("callTool", asking(1))
			check.Equal(t, toolText(t, raw, err), "nobody to ask", "with %v", elicitation)
		}
	})
}

// standOpen: while many forms do, other calls are answered; then each form gets its own answer.
func standOpen(t *testing.T, c *typescript, shown <-chan form, tell chan<- reply) {
	var answers []func() (json.RawMessage, error)
	for i := range manyForms {
		answers = append(answers, c.begin("callTool", asking(i)))
	}
	for range manyForms {
		select {
		case <-shown:
		case <-time.After(patience):
			t.Fatal("not all forms are shown")
		}
	}
	for i := range 10 {
		raw, err := c.request("callTool", args{"name": "echo", "arguments": args{"n": i}})
		check.Equal(t, toolText(t, raw, err), fmt.Sprintf(`{"n":%d}`, i))
	}
	for range manyForms {
		tell <- accepts(args{"decision": "approve_once"})
	}
	for i, answer := range answers {
		raw, err := answer()
		check.Equal(t, toolText(t, raw, err), "accept approve_once", "call %d", i)
	}
}

// A user who gives up the call, a client that leaves and one that is killed
// while the form is open: the server goes on, and ends when it is told to.
func TestLeavingAnOpenForm(t *testing.T) {
	driveExample(t, func(t *testing.T, connect func(driver) *typescript) {
		shown := make(chan form, 3)
		c := connect(driver{User: never(shown)})
		aborted, abort := c.beginAbortable(asking(1))
		<-shown
		check.OK(t, abort())
		if raw, err := aborted(); err == nil {
			t.Errorf("the call was not given up: %s", raw)
		}
		raw, err := c.request("callTool", args{"name": "echo", "arguments": args{}})
		check.Equal(t, toolText(t, raw, err), "{}")
		left := c.begin("callTool", asking(2))
		<-shown
		c.leave()
		// Over stdio there is still time for a result.
		if raw, err := left(); err == nil && toolText(t, raw, nil) != "error: the client can no longer answer" {
			t.Errorf("the call was answered: %s", raw)
		}
		killed := connect(driver{User: never(shown), mortal: true})
		gone := killed.begin("callTool", asking(3))
		<-shown
		killed.kill()
		if raw, err := gone(); err == nil {
			t.Errorf("the call was answered: %s", raw)
		}
	})
}

// The official Go client answers in both styles, and fails as a client can.
func TestGoClientAnswers(t *testing.T) {
	for _, version := range []string{"", modern} {
		t.Run("revision "+version, func(t *testing.T) {
			t.Parallel()
			tell := make(chan reply, 1)
			e := serveExampleHTTP(t)
			e.url += "/mcp"
			c := (&workspace{t: t}).dialGoFor(onceTold(make(chan form, 10), tell), e, version)
			for r, want := range map[string]string{"approve_once": "accept approve_once", "deny": "accept deny"} {
				tell <- accepts(args{"decision": r})
				raw, err := c.request("callTool", asking(1))
				check.Equal(t, toolText(t, raw, err), want)
			}
			tell <- reply{fails: "no terminal"}
			raw, err := c.request("callTool", asking(2))
			if err == nil && !strings.HasPrefix(toolText(t, raw, nil), "error: the client's answer does not fit the form: it sent an error") {
				t.Errorf("a client that failed has answered: %s", raw)
			}
		})
	}
}

// serveExample is the environment variable that makes this test program the example server on its standard streams.
const serveExample = "ORCHESTRA_E2E_EXAMPLE_SERVER"

// example is a server that only asks: the protocol's side of an approval, without what is approved. Its neighbours have a tool
// that changes their lists.
type example struct{ beside *neighbours }

func (e example) Read(string, json.RawMessage) mcpbridge.Incoming { return e }
func (example) Agent() string                                     { return "" }

func (e example) Arrive(call mcpbridge.Call) func(context.Context) mcpbridge.Result {
	return func(ctx context.Context) mcpbridge.Result {
		switch {
		case call.Tool == "echo":
			return mcpbridge.Result{Text: string(call.Arguments)}
		case call.Tool == "beside_change":
			return e.beside.change(call)
		case call.Resumed != nil:
			return told(exampleForm(call).Read(call.Resumed.Answer))
		case call.Caller.Modern && call.Caller.CanElicit:
			return mcpbridge.Result{InputRequired: &mcpbridge.InputRequired{Form: exampleForm(call), State: "asked"}}
		case call.Elicit != nil:
			return told(call.Elicit(ctx, exampleForm(call)))
		}
		return mcpbridge.Result{Text: "nobody to ask"}
	}
}

// exampleForm has the fields of an approval; its message shows the call, so that a mix-up shows.
func exampleForm(call mcpbridge.Call) mcpbridge.Form {
	return mcpbridge.Form{
		Message: "May it? " + string(call.Arguments),
		Options: []mcpbridge.Option{
			{Value: "approve_once", Title: "Allow once"}, {Value: "approve_for_intent", Title: "Allow for this intent"}, {Value: "deny", Title: "Deny"},
		},
	}
}

func told(answer mcpbridge.Answer, err error) mcpbridge.Result {
	if err != nil {
		return mcpbridge.Result{Text: "error: " + err.Error()}
	}
	return mcpbridge.Result{Text: strings.TrimSpace(fmt.Sprintf("%s %s %s", answer.Action, answer.Decision, answer.Reason))}
}

func newExample() (*mcpbridge.Server, error) {
	schema := func() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }
	beside := &neighbours{}
	s, err := mcpbridge.New(mcpbridge.Config{
		Name: "example", Version: "1", Handler: example{beside}, Beside: beside, Logger: zerolog.Nop(), Instructions: func() string { return "" },
		Disconnected: func(string) {}, Busy: func(string) bool { return false },
		Tools:    []mcpbridge.Tool{{Name: "ask", InputSchema: schema}, {Name: "echo", InputSchema: schema}},
		Complete: func(string, string) []string { return nil },
	})
	beside.server.Store(s)
	return s, err
}

func serveExampleStdio() int {
	s, err := newExample()
	if err == nil {
		err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout, mcpbridge.StdioOptions{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveExampleHTTP serves it to whoever has the token.
func serveExampleHTTP(t *testing.T) endpoint {
	t.Helper()
	s := check.Value(newExample())(t)
	const token = "example-token"
	handler := check.Value(s.HTTPHandler(mcpbridge.HTTPOptions{SSE: true, Authenticate: func(_ context.Context, sent string) (mcpbridge.Identity, error) {
		if sent != token {
			return mcpbridge.Identity{}, &mcpbridge.Denial{Status: http.StatusUnauthorized}
		}
		return mcpbridge.Identity{Principal: "example"}, nil
	}}))(t)
	server := httptest.NewServer(handler)
	t.Cleanup(func() { handler.Close(); server.Close() })
	return endpoint{url: server.URL, token: token}
}
