package e2e_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// What one principal selected, another cannot use, although it has the handle; commands in the background, and what
// commands print, are their principal's.
func TestCommandsOfPrincipals(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.embed(func(*server.Server) {})
	for _, version := range []string{"", modern} {
		alice, bob := agent{t, w.dialGo(endpoint{e.url, "token of alice"}, version)}, agent{t, w.dialGo(endpoint{e.url, "token of bob"}, version)}
		session, own := alice.selects("INT-001"), bob.selects("INT-001")
		r := alice.ok("execute_command", args{"session": session, "command": "echo hers; exec sleep 100", "background": true})
		id, artifact := r.str("command_id"), r.str("artifact_id")
		for stolen, arguments := range map[string]args{
			"list_commands": {}, "stop_command": {"command_id": id}, "write_to_file": {"path": "src/stolen.txt", "content": "x"}, "get_active_intent": {},
		} {
			arguments["session"] = session
			bob.refused("SESSION_EXPIRED", stolen, arguments)
		}
		bob.refused("FILE_NOT_FOUND", "stop_command", args{"session": own, "command_id": id})
		bob.refused("FILE_NOT_FOUND", "read_command_output", args{"session": own, "artifact_id": artifact})
		listed, _ := bob.ok("list_commands", args{"session": own}).Fields["commands"].([]any)
		check.That(t, len(listed) == 0, "bob sees %v", listed)
		read := alice.ok("read_command_output", args{"session": session, "artifact_id": artifact})
		check.That(t, read.str("content") == "1 | hers\n", "%v", read.Fields)
		check.Equal(t, alice.ok("stop_command", args{"session": session, "command_id": id}).Fields["running"], false)
	}
}

// embed serves the workspace as an embedder does, to two principals.
func (w *workspace) embed(add func(*server.Server)) endpoint {
	w.t.Helper()
	return w.embedWith(settings.Defaults(), add)
}

func (w *workspace) embedWith(set settings.Settings, add func(*server.Server)) endpoint {
	w.t.Helper()
	srv := check.Value(server.New(server.Options{Dir: w.dir, Settings: set, Logger: zerolog.New(testLog{w.t}).Level(zerolog.ErrorLevel)}))(w.t)
	add(srv)
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(w.t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- srv.ServeHTTP(ctx, listener, server.HTTPOptions{Authenticate: func(token string) (string, bool) {
			return strings.CutPrefix(token, "token of ")
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
