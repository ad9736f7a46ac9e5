package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Whatever happens, standard output carries messages only: process.next holds each line to that.
func TestNothingButProtocol(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized("ORCHESTRA_LOG_LEVEL=debug", "ORCHESTRA_NO_SUCH_THING=1")
	p.send("not JSON", `{"jsonrpc":"2.0","id":1,"method":"no/such/method"}`, callLine(2, "no_such_tool", args{}))
	p.await(2)
	a := p.agent()
	session := a.Selects("INT-001")
	a.OK("execute_command", args{"command": "echo to stdout; echo to stderr >&2; printf '\\377\\0'", "session": session})
	a.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": "docs/x", "content": "", "session": session})
	p.end()
	check.That(t, strings.Contains(p.log.String(), "ORCHESTRA_NO_SUCH_THING"), "standard error lacks the warning: %s", p.log)
}

// A write right behind the selection sees it, and the end of input, even without a final newline, loses neither.
func TestPipelinedCallsBeforeEndOfInput(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.start()
	lines := []string{initialize, callLine(1, "select_active_intent", args{"intent_id": "INT-001"})}
	const writes = 3 // a busy machine may need long for more, and what is not done a second after the end of input is given up
	for i := range writes {
		lines = append(lines, callLine(2+i, "write_to_file", args{"path": fmt.Sprintf("src/p%d.txt", i), "content": "x\n"}))
	}
	check.Value(io.WriteString(p.in, strings.Join(lines, "\n")))(t)
	p.in.Close()
	for i := range 1 + writes {
		r := p.await(1 + i).result(t)
		check.Must(t, !r.Error, "call %d: %s", i, r.Text)
	}
	p.exits()
	check.Equal(t, len(w.records(`"kind":"mutation"`)), writes)
}

// What one principal selected, another cannot use, although it has the handle; commands in the background, and what
// commands print, are their principal's.
func TestCommandsOfPrincipals(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.embed(func(*server.Options) {})
	for _, version := range []string{"", modern} {
		alice, bob := newAgent(t, w.dialGo(endpoint{e.url, "token of alice"}, version)), newAgent(t, w.dialGo(endpoint{e.url, "token of bob"}, version))
		session, own := alice.Selects("INT-001"), bob.Selects("INT-001")
		r := alice.OK("execute_command", args{"session": session, "command": "echo hers; exec sleep 100", "background": true})
		id, artifact := r.Str("command_id"), r.Str("artifact_id")
		for stolen, arguments := range map[string]args{
			"list_commands": {}, "stop_command": {"command_id": id}, "write_to_file": {"path": "src/stolen.txt", "content": "x"}, "get_active_intent": {},
		} {
			arguments["session"] = session
			bob.Refused("SESSION_EXPIRED", stolen, arguments)
		}
		bob.Refused("FILE_NOT_FOUND", "stop_command", args{"session": own, "command_id": id})
		bob.Refused("FILE_NOT_FOUND", "read_command_output", args{"session": own, "artifact_id": artifact})
		listed, _ := bob.OK("list_commands", args{"session": own}).Object["commands"].([]any)
		check.That(t, len(listed) == 0, "bob sees %v", listed)
		read := alice.OK("read_command_output", args{"session": session, "artifact_id": artifact})
		check.That(t, read.Str("content") == "1 | hers\n", "%v", read.Object)
		check.Equal(t, alice.OK("stop_command", args{"session": session, "command_id": id}).Object["running"], false)
	}
}

// embed serves the workspace as an embedder does, to principals.
func (w *workspace) embed(change func(*server.Options)) endpoint {
	w.t.Helper()
	o := server.Options{Dir: w.dir, Settings: settings.Defaults(), Logger: zerolog.New(testLog{w.t}).Level(zerolog.ErrorLevel)}
	change(&o)
	srv := check.Value(server.New(o))(w.t)
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(w.t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- srv.ServeHTTP(ctx, listener, server.HTTPOptions{Authenticate: func(_ context.Context, token string) (auth.Principal, error) {
			name, ok := strings.CutPrefix(token, "token of ")
			if !ok {
				return auth.Principal{}, auth.ErrUnknown
			}
			return auth.Principal{Name: name}, nil
		}})
	}()
	w.t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			check.That(w.t, err == nil, "serving ended with %v", err)
		case <-time.After(patience):
			w.t.Error("serving does not end")
		}
		check.NoError(w.t, srv.Close())
	})
	return endpoint{url: "http://" + listener.Addr().String() + "/mcp"}
}
