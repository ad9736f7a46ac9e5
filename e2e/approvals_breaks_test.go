package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

const (
	asksOutside = "ORCHESTRA_APPROVALS_SCOPE_VIOLATION=ask"
	// waitsForOperator is longer than any test takes to answer.
	waitsForOperator = "ORCHESTRA_APPROVALS_WAIT=10m"
)

// dialed connects a client by its name, for a user who may be nil.
func (w *workspace) dialed(name string, u user, env ...string) agent {
	w.t.Helper()
	for _, c := range connectionsFor(u, nil) {
		if c.name == name {
			return agent{w.t, c.connect(w, env...)}
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
		r := answer{t: a.t}
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		return r, err
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

// noting is a call that is asked about: each time that it is carried out, it
// adds a line.
func noting(session, name string) args {
	return args{"session": session, "command": "sh note " + name}
}

// passesOnce demands that an approved call passes, unasked, and then no more.
func (w *workspace) passesOnce(a agent, name string) {
	w.t.Helper()
	call := noting(a.selects("INT-002"), name)
	a.ok("execute_command", call)
	w.want("docs/"+name, "done\n")
	a.refused("APPROVAL_REQUIRED", "execute_command", call)
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
			session := a.selects("INT-002")
			stop := func(name string) string {
				r := a.refused("APPROVAL_REQUIRED", "execute_command", noting(session, name))
				if c.forms {
					<-shown
				}
				id, _ := r.details()["approval_id"].(string)
				check.That(t, strings.Contains(r.str("suggestion"), id), "%s", r.text())
				return id
			}
			resumed := args{"session": session, "approval_id": stop("resumed")}
			a.refused("APPROVAL_REQUIRED", "resume_approval", resumed)
			w.commands("approvals", "approve", "--yes", resumed["approval_id"].(string))
			a.ok("resume_approval", resumed)
			w.want("docs/resumed", "done\n")
			a.refused("FILE_NOT_FOUND", "resume_approval", resumed)
			check.That(t, stop("resumed") != resumed["approval_id"], "a used request is put again")
			w.commands("approvals", "approve", "--yes", stop("again"))
			a.ok("execute_command", noting(session, "again"))
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
			if !check.Long() && (name == "leaves") != (client == "typescript1/stdio") || check.Short() && client == "typescript1/http" {
				continue
			}
			t.Run(client+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				w.asksForCommands()
				shown := make(chan form, 1)
				a := w.dialed(client, never(shown), waitsForOperator)
				end := a.begin("execute_command", noting(a.selects("INT-002"), "gone"))
				<-shown
				goes(a.client.(*typescript))
				r, err := end()
				check.That(t, err != nil || r.IsError, "the call was carried out: %s", r.text())
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

// What was put in a form can be answered in the inbox: the form is closed, and
// the call goes on.
func TestInboxAnswersForTheForm(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	shown, closed := make(chan form, 1), make(chan bool, 1)
	u := never(shown)
	a := w.dialed("typescript1/stdio", func(ctx context.Context, f form) reply { r := u(ctx, f); closed <- true; return r }, asksOutside, waitsForOperator)
	session := a.selects("INT-001")
	for name, arguments := range map[string][]string{"yes": {"approve", "--yes"}, "no": {"deny", "--reason", "mine"}} {
		end := a.begin("write_to_file", outsideCall(session, name))
		<-shown
		w.commands(append(append([]string{"approvals"}, arguments...), w.pending(w.inbox(), 1)[0].ID)...)
		r, err := end()
		check.That(t, err == nil && r.IsError == (name == "no"), "%s: %v %+v", name, err, r)
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
			end := a.begin("edit_file", args{"session": a.selects("INT-001"), "path": "docs/other.md", "old_string": "#", "new_string": "##"})
			first := <-shown
			w.write("docs/other.md", "# By a person\n")
			told <- accepts(args{"decision": decisionOnce})
			second := <-shown
			check.That(t, second.message != first.message && strings.Contains(second.message, "By a person"), "shown:\n%s", second.message)
			told <- accepts(args{"decision": decisionDeny})
			r, err := end()
			check.That(t, err == nil && r.Fields["error_type"] == "APPROVAL_REJECTED", "%v %+v", err, r)
			w.want("docs/other.md", "# By a person\n")
		})
	}
}
