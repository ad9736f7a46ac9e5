package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// dialedKillable connects a client to a server that can be killed: what it
// starts is a shell that leaves its process id before it becomes the server.
func (w *workspace) dialedKillable(u user, sdk int, pin string, env ...string) (agent, func()) {
	w.t.Helper()
	file := w.home + "/pid"
	a := agent{w.t, w.drive(driver{
		SDK: sdk, Pin: pin, Transport: "stdio", Command: "sh", User: u, Env: w.env(env...),
		Args: []string{"-c", `echo $$ > "$1"; exec "$2" serve --workspace "$3"`, "sh", file, program, w.dir},
	})}
	return a, func() {
		content := check.Value(os.ReadFile(file))(w.t)
		pid := check.Value(strconv.Atoi(strings.TrimSpace(string(content))))(w.t)
		server, err := os.FindProcess(pid)
		if err == nil {
			err = server.Kill()
		}
		check.OK(w.t, err)
	}
}

// The server is killed while it asks: nothing has happened, what was asked can
// be answered all the same, and the answer lets the call pass, once, at the
// server that comes after it.
func TestServerKilledWhileItAsks(t *testing.T) {
	for _, c := range []struct {
		name string
		sdk  int
		pin  string
		form bool
	}{{"form", 1, "", true}, {"form as a result", 2, modern, true}, {"inbox", 1, "", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.asksForCommands()
			var u user
			shown := make(chan form, 1)
			if c.form {
				u = never(shown)
			}
			a, kill := w.dialedKillable(u, c.sdk, c.pin, waitsForOperator)
			end := a.begin("execute_command", noting(a.selects("INT-002"), "killed"))
			id := w.pending(w.inbox(), 1)[0].ID
			if c.form {
				<-shown
			}
			kill()
			if !c.form || c.pin == "" { // that client waits for its user, not for the server
				r, err := end()
				check.That(t, err != nil, "the call was answered: %s", r.text())
			}
			w.commands("approvals", "approve", "--yes", id)
			check.Equal(t, w.content("docs/killed"), "", "the call took effect")
			w.passesOnce(w.dialed("typescript1/stdio", nil), "killed")
		})
	}
}

// The form of revision 2026-07-28 outlives the server that asked: the answer
// goes to the one that stands in its place, counts there, and counts once.
func TestFormOutlivesTheServer(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.asksForCommands()
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	listener.Close()
	serve := func() *exec.Cmd {
		cmd := exec.Command(program, "serve", "--workspace", w.dir, "--transport", "http", "--listen", address)
		cmd.Env = w.env(waitsForOperator, "ORCHESTRA_AUTH_TOKEN=one-and-the-same-token-0123456789")
		check.OK(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		eventually(t, "the server listens", func() bool {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
		return cmd
	}
	first := serve()
	shown, told := make(chan form, 2), make(chan reply)
	a := agent{t, w.drive(driver{SDK: 2, Pin: modern, Transport: "http", URL: "http://" + address + "/mcp",
		Token: "one-and-the-same-token-0123456789", User: onceTold(shown, told)})}
	session := a.selects("INT-002")
	end := a.begin("execute_command", noting(session, "moved"))
	<-shown
	check.OK(t, first.Process.Kill())
	_ = first.Wait()
	serve()
	told <- accepts(args{"decision": decisionOnce})
	if r, err := end(); err != nil || r.IsError {
		t.Fatalf("%v %+v", err, r)
	}
	w.want("docs/moved", "done\n")
	end = a.begin("execute_command", noting(session, "moved"))
	<-shown
	told <- accepts(args{"decision": decisionDeny})
	if r, err := end(); err != nil || r.Fields["error_type"] != "APPROVAL_REJECTED" {
		t.Errorf("%v %+v", err, r)
	}
	w.want("docs/moved", "done\n")
}

// Killed at any moment after the answer, the server has carried the call out or
// not, and the approval lets no second one pass.
func TestServerKilledAfterTheAnswer(t *testing.T) {
	t.Parallel()
	rounds := check.Rounds(2, 100)
	w := newWorkspace(t)
	for round := range rounds {
		name := fmt.Sprint("round", round)
		a, kill := w.dialedKillable(nil, 1, "", asksOutside, waitsForOperator)
		end := a.begin("write_to_file", outsideCall(a.selects("INT-001"), name))
		id := w.pending(w.inbox(), 1)[0].ID
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			w.commands("approvals", "approve", "--yes", id)
		}()
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		kill()
		r, err := end()
		<-answered
		next := w.dialed("typescript1/stdio", nil, asksOutside)
		session := next.selects("INT-001")
		next.ok("write_to_file", args{"session": session, "path": "src/" + name + ".txt", "content": "x"}) // settles what was in flight
		written := w.content("docs/" + name + ".md")
		switch {
		case written != "" && written != name+"\n":
			t.Errorf("half a file: %q", written)
		case err == nil && !r.IsError && written == "":
			t.Errorf("what was answered is not there: %s", r.text())
		case written != "":
			if len(w.records(`"docs/`+name+`.md","op":"created"`)) != 1 {
				t.Errorf("the change of round %d has no record: %s", round, w.records(name+".md"))
			}
			next.refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": id, "session": session})
		default: // it can be made again, with the answer or with a question
			made := next.call("write_to_file", outsideCall(session, name))
			check.That(t, !made.IsError || made.Fields["error_type"] == "APPROVAL_REQUIRED", "%s", made.text())
			for _, waiting := range w.pending(w.inbox(), 0) {
				w.commands("approvals", "deny", waiting.ID)
			}
		}
		w.verify()
	}
}
