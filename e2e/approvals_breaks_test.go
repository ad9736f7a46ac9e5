package e2e_test

import (
	"context"
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
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

const (
	asksOutside = "ORCHESTRA_APPROVALS_SCOPE_VIOLATION=ask"
	// waitsForOperator is longer than any test takes to answer.
	waitsForOperator = "ORCHESTRA_APPROVALS_WAIT=10m"
)

// dialed connects a client by its name, for a user who may be nil.
func (w *workspace) dialed(name string, u user, env ...string) agent {
	w.t.Helper()
	return w.dialedAs(name, u, false, env...)
}

// dialedAs connects one that can be killed if it is mortal.
func (w *workspace) dialedAs(name string, u user, mortal bool, env ...string) agent {
	w.t.Helper()
	for _, c := range connectionsFor(u, mortal) {
		if c.name == name {
			return newAgent(w.t, c.connect(w, env...))
		}
	}
	w.t.Fatalf("no client %s", name)
	return agent{}
}

// begin makes a call that goes on; what it returns waits for its end.
func (a agent) begin(tool string, arguments args) func() (answer, error) {
	wait := a.client.(*typescript).begin("callTool", args{"name": tool, "arguments": arguments})
	return func() (answer, error) {
		raw, err := wait()
		if err != nil {
			return answer{}, err
		}
		return agenttest.Read(a.T, raw)
	}
}

// outsideCall is a call that is asked about.
func outsideCall(session, name string) args {
	return args{"session": session, "path": "docs/" + name + ".md", "content": name + "\n"}
}

// asksForCommands has every call under INT-002 be asked about; commands, unlike
// changes of files, can be made again as they are.
func (w *workspace) asksForCommands() {
	w.t.Helper()
	w.write(".orchestration/.intentignore", "approve:INT-002\n")
	w.write("note", "echo done >> docs/$1\n")
}

// noting is a call that is asked about: each time that it is carried out, it adds a line.
func noting(session, name string) args {
	return args{"session": session, "command": "sh note " + name}
}

// passesOnce demands that an approved call passes, unasked, and then no more.
func (w *workspace) passesOnce(a agent, name string) {
	w.t.Helper()
	call := noting(a.Selects("INT-002"), name)
	a.OK("execute_command", call)
	w.want("docs/"+name, "done\n")
	a.Refused("APPROVAL_REQUIRED", "execute_command", call)
	w.want("docs/"+name, "done\n")
}

// Nobody answers in time: the call comes back with the request's id, and after a
// yes either way on carries it out, once.
func TestTimeOut(t *testing.T) {
	for _, c := range []struct {
		client string
		forms  bool
	}{{"typescript1/http", true}, {"typescript2/http/modern", false}, {"typescript1/stdio", true}, {"typescript1/stdio", false}}[:check.Rounds(2, 4)] {
		t.Run(fmt.Sprintf("%s/forms %v", c.client, c.forms), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.asksForCommands()
			shown := make(chan form, 10)
			var u user
			if c.forms {
				u = never(shown)
			}
			a := w.dialed(c.client, u, "ORCHESTRA_APPROVALS_WAIT=300ms")
			session := a.Selects("INT-002")
			stop := func(name string) string {
				r := a.Refused("APPROVAL_REQUIRED", "execute_command", noting(session, name))
				if c.forms {
					<-shown
				}
				id, _ := r.Details()["approval_id"].(string)
				check.That(t, strings.Contains(r.Str("suggestion"), id), "%s", r.Text)
				return id
			}
			resumed := args{"session": session, "approval_id": stop("resumed")}
			a.Refused("APPROVAL_REQUIRED", "resume_approval", resumed)
			w.commands("approvals", "approve", "--yes", resumed["approval_id"].(string))
			a.OK("resume_approval", resumed)
			w.want("docs/resumed", "done\n")
			a.Refused("FILE_NOT_FOUND", "resume_approval", resumed)
			check.That(t, stop("resumed") != resumed["approval_id"], "a used request is put again")
			w.commands("approvals", "approve", "--yes", stop("again"))
			a.OK("execute_command", noting(session, "again"))
			stop("again")
			w.want("docs/resumed", "done\n")
			w.want("docs/again", "done\n")
		})
	}
}

// The client leaves, or is killed, while the operator is asked: nothing is
// changed, also by a later yes, which lets the same call pass another time.
func TestClientGoesWhileAsked(t *testing.T) {
	for _, client := range []string{"typescript1/stdio", "typescript1/http", "typescript2/stdio/modern", "typescript2/http/modern"} {
		for name, goes := range map[string]func(*typescript){"leaves": (*typescript).leave, "killed": (*typescript).kill} {
			if !check.Long() && ((name == "leaves") != (client == "typescript1/stdio") || client == "typescript2/stdio/modern") {
				continue
			}
			t.Run(client+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				w.asksForCommands()
				shown := make(chan form, 1)
				a := w.dialedAs(client, never(shown), name == "killed", waitsForOperator)
				end := a.begin("execute_command", noting(a.Selects("INT-002"), "gone"))
				<-shown
				goes(a.client.(*typescript))
				r, err := end()
				check.That(t, err != nil || r.Error, "the call was carried out: %s", r.Text)
				if client == "typescript1/http" && name == "killed" {
					// Its stream may be resumed: the call waits on, and the operator's yes is about it.
					w.commands("approvals", "approve", "--yes", w.pending(w.inbox(), 1)[0].ID)
					eventually(t, "the call goes on", func() bool { return w.content("docs/gone") == "done\n" })
					return
				}
				if !strings.HasSuffix(client, "modern") {
					eventually(t, "the call ends", func() bool { return len(w.records(`"CANCELLED"`)) == 1 })
				}
				w.commands("approvals", "approve", "--yes", w.pending(w.inbox(), 1)[0].ID)
				check.Equal(t, w.content("docs/gone"), "", "a call of nobody took effect")
				again := "typescript1/stdio" // without forms, of the same principal
				if strings.Contains(client, "http") {
					again = "typescript2/http/modern"
				}
				w.passesOnce(w.dialed(again, nil), "gone")
			})
		}
	}
}

// What was put in a form can be answered in the inbox: the form is closed, and the call goes on.
func TestInboxAnswersForTheForm(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	shown, closed := make(chan form, 1), make(chan bool, 1)
	u := never(shown)
	a := w.dialed("typescript1/stdio", func(ctx context.Context, f form) reply { r := u(ctx, f); closed <- true; return r }, asksOutside, waitsForOperator)
	session := a.Selects("INT-001")
	for name, arguments := range map[string][]string{"yes": {"approve", "--yes"}, "no": {"deny", "--reason", "mine"}} {
		end := a.begin("write_to_file", outsideCall(session, name))
		<-shown
		w.commands(append(append([]string{"approvals"}, arguments...), w.pending(w.inbox(), 1)[0].ID)...)
		r, err := end()
		check.That(t, err == nil && r.Error == (name == "no"), "%s: %v %+v", name, err, r)
		<-closed
	}
	w.want("docs/yes.md", "yes\n")
}

// An approval is about what was shown: where the file has changed by then, the form shows what is there now. pkg/server has
// what else voids one.
func TestWhatChangedMeanwhileIsShownAgain(t *testing.T) {
	for _, client := range []string{"typescript1/stdio", "typescript2/http/modern"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			shown, told := make(chan form, 1), make(chan reply)
			a := w.dialed(client, onceTold(shown, told), asksOutside, waitsForOperator)
			end := a.begin("edit_file", args{"session": a.Selects("INT-001"), "path": "docs/other.md", "old_string": "#", "new_string": "##"})
			first := <-shown
			w.write("docs/other.md", "# By a person\n")
			told <- accepts(args{"decision": decisionOnce})
			second := <-shown
			check.That(t, second.message != first.message && strings.Contains(second.message, "By a person"), "shown:\n%s", second.message)
			told <- accepts(args{"decision": decisionDeny})
			r, err := end()
			check.That(t, err == nil && r.Object["error_type"] == "APPROVAL_REJECTED", "%v %+v", err, r)
			w.want("docs/other.md", "# By a person\n")
		})
	}
}

// dialedKillable connects a client to a server that can be killed: what it
// starts is a shell that leaves its process id before it becomes the server.
func (w *workspace) dialedKillable(u user, sdk int, pin string, env ...string) (agent, func()) {
	w.t.Helper()
	file := w.home + "/pid"
	a := newAgent(w.t, w.drive(driver{
		SDK: sdk, Pin: pin, Transport: "stdio", Command: "sh", User: u, Env: w.env(env...),
		Args: []string{"-c", `echo $$ > "$1"; exec "$2" serve --workspace "$3"`, "sh", file, program, w.dir},
	}))
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

// The server is killed while it asks: nothing has happened, what was asked can be answered all the same, and the answer
// lets the call pass, once, at the server that comes after it.
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
			end := a.begin("execute_command", noting(a.Selects("INT-002"), "killed"))
			id := w.pending(w.inbox(), 1)[0].ID
			if c.form {
				<-shown
			}
			kill()
			if !c.form || c.pin == "" { // that client waits for its user, not for the server
				r, err := end()
				check.That(t, err != nil, "the call was answered: %s", r.Text)
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
	a := newAgent(t, w.drive(driver{SDK: 2, Pin: modern, Transport: "http", URL: "http://" + address + "/mcp",
		Token: "one-and-the-same-token-0123456789", User: onceTold(shown, told)}))
	session := a.Selects("INT-002")
	end := a.begin("execute_command", noting(session, "moved"))
	<-shown
	check.OK(t, first.Process.Kill())
	_ = first.Wait()
	serve()
	told <- accepts(args{"decision": decisionOnce})
	if r, err := end(); err != nil || r.Error {
		t.Fatalf("%v %+v", err, r)
	}
	w.want("docs/moved", "done\n")
	end = a.begin("execute_command", noting(session, "moved"))
	<-shown
	told <- accepts(args{"decision": decisionDeny})
	if r, err := end(); err != nil || r.Object["error_type"] != "APPROVAL_REJECTED" {
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
		end := a.begin("write_to_file", outsideCall(a.Selects("INT-001"), name))
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
		session := next.Selects("INT-001")
		next.OK("write_to_file", args{"session": session, "path": "src/" + name + ".txt", "content": "x"}) // settles what was in flight
		written := w.content("docs/" + name + ".md")
		switch {
		case written != "" && written != name+"\n":
			t.Errorf("half a file: %q", written)
		case err == nil && !r.Error && written == "":
			t.Errorf("what was answered is not there: %s", r.Text)
		case written != "":
			if len(w.records(`"docs/`+name+`.md","op":"created"`)) != 1 {
				t.Errorf("the change of round %d has no record: %s", round, w.records(name+".md"))
			}
			next.Refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": id, "session": session})
		default: // it can be made again, with the answer or with a question
			made := next.Call("write_to_file", outsideCall(session, name))
			check.That(t, !made.Error || made.Object["error_type"] == "APPROVAL_REQUIRED", "%s", made.Text)
			for _, waiting := range w.pending(w.inbox(), 0) {
				w.commands("approvals", "deny", waiting.ID)
			}
		}
		w.verify()
	}
}
