package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
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
				if !strings.Contains(r.str("suggestion"), id) {
					t.Errorf("%s", r.text())
				}
				return id
			}
			resumed := args{"session": session, "approval_id": stop("resumed")}
			a.refused("APPROVAL_REQUIRED", "resume_approval", resumed)
			w.commands("approvals", "approve", "--yes", resumed["approval_id"].(string))
			a.ok("resume_approval", resumed)
			w.want("docs/resumed", "done\n")
			a.refused("FILE_NOT_FOUND", "resume_approval", resumed)
			if stop("resumed") == resumed["approval_id"] {
				t.Error("a used request is put again")
			}
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
				if r, err := end(); err == nil && !r.IsError {
					t.Errorf("the call was carried out: %s", r.text())
				}
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
		if err != nil || r.IsError != (name == "no") {
			t.Errorf("%s: %v %+v", name, err, r)
		}
		<-closed
	}
	w.want("docs/yes.md", "yes\n")
}

// Two servers, two clients and one inbox: the same call is one question, and
// one answer lets one of the two pass.
func TestTwoServersAndOneInbox(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	var ends []func() (answer, error)
	for range 2 {
		a := w.dialed("typescript1/stdio", nil, asksOutside, waitsForOperator)
		session := a.selects("INT-001")
		ends = append(ends, a.begin("write_to_file", outsideCall(session, "shared")))
		ends = append(ends, a.begin("write_to_file", outsideCall(session, "own-"+session[4:])))
	}
	inbox := w.inbox()
	requests := w.pending(inbox, 3)
	if len(requests) != 3 || strings.Count(w.commands("approvals", "list"), "docs/") != 3 {
		t.Errorf("%d requests, want one that is shared and two others", len(requests))
	}
	for _, r := range requests {
		w.commands("approvals", "approve", "--yes", r.ID)
	}
	passed, over := 0, make(chan struct{})
	var denying sync.WaitGroup
	denying.Go(func() { w.denies(inbox, over) })
	defer denying.Wait()
	defer close(over)
	for i, end := range ends {
		r, err := end()
		switch {
		case err != nil:
			t.Error(err)
		case !r.IsError:
			passed++
		case i%2 == 1 || !slices.Contains([]any{"BUSY", "READ_REQUIRED", "APPROVAL_REJECTED"}, r.Fields["error_type"]):
			t.Errorf("call %d: %s", i, r.text())
		}
	}
	if passed != 3 || len(w.records(`"kind":"mutation"`, "docs/shared.md")) != 1 {
		t.Errorf("%d calls passed, want 3", passed)
	}
}

// denies says no to whatever is asked until it is over: who comes too late for
// an answer is asked about anew.
func (w *workspace) denies(inbox *approval.Store, over <-chan struct{}) {
	for {
		waiting, err := inbox.Pending()
		if err != nil {
			w.t.Error(err)
		}
		for _, r := range waiting {
			_, _, _ = inbox.Answer(r.ID, approval.Answer{Decision: approval.Deny, Via: approval.Inbox})
		}
		select {
		case <-over:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// An approval is about what was shown: it is void if the file or the intent has
// changed by then, in every way.
func TestWhatChangedMeanwhileVoidsTheApproval(t *testing.T) {
	changes := map[string]func(w *workspace){
		"file": func(w *workspace) { w.write("docs/other.md", "# By a person\n") },
		"intent": func(w *workspace) {
			w.write(intentsFile, strings.Replace(intentsYAML, "Serve the weather.", "Serve nothing.", 1))
		},
	}
	edit := func(session string) args {
		return args{"session": session, "path": "docs/other.md", "old_string": "#", "new_string": "##"}
	}
	for what, change := range changes {
		for _, client := range []string{"typescript1/stdio", "typescript2/http/modern"} {
			t.Run(what+"/form/"+client, func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				shown, told := make(chan form, 1), make(chan reply)
				a := w.dialed(client, onceTold(shown, told), asksOutside, waitsForOperator)
				end := a.begin("edit_file", edit(a.selects("INT-001")))
				first := <-shown
				change(w)
				told <- accepts(args{"decision": decisionOnce})
				if second := <-shown; what == "file" && (second.message == first.message || !strings.Contains(second.message, "By a person")) {
					t.Errorf("not shown what is there now:\n%s", second.message)
				}
				told <- accepts(args{"decision": decisionDeny})
				if r, err := end(); err != nil || r.Fields["error_type"] != "APPROVAL_REJECTED" || strings.Contains(w.read("docs/other.md"), "##") {
					t.Errorf("%v %+v", err, r)
				}
			})
		}
		t.Run(what+"/inbox", func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			a := w.dialed("typescript1/stdio", nil, asksOutside)
			session := a.selects("INT-001")
			stopped := a.refused("APPROVAL_REQUIRED", "edit_file", edit(session))
			id := stopped.details()["approval_id"].(string)
			change(w)
			if out, code := w.command("approvals", "approve", "--yes", id); code != 1 || !strings.Contains(out, "has changed since") {
				t.Errorf("the operator is not told: %d %s", code, out)
			}
			// An answer that is given all the same lets nothing pass.
			if _, _, err := w.inbox().Answer(id, approval.Answer{Decision: approval.Once, Via: approval.Inbox}); err != nil {
				t.Fatal(err)
			}
			a.refused("APPROVAL_REQUIRED", "resume_approval", args{"session": session, "approval_id": id})
			again := a.refused("APPROVAL_REQUIRED", "edit_file", edit(session))
			if again.details()["approval_id"] == id || strings.Contains(w.read("docs/other.md"), "##") {
				t.Errorf("%s", again.text())
			}
		})
	}
}

// Fifty calls wait for the operator, and reads are served; then each call gets
// its own answer.
func TestFiftyAskedWhileReadsAreServed(t *testing.T) {
	const many = 50
	for _, c := range []struct {
		client string
		forms  bool
	}{{"typescript2/http/modern", true}, {"typescript1/http", false}, {"typescript1/stdio", true}}[:check.Rounds(2, 3)] {
		t.Run(fmt.Sprintf("%s/forms %v", c.client, c.forms), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			shown, told := make(chan form, many), make(chan reply, many)
			var u user
			if c.forms {
				u = onceTold(shown, told)
			}
			a := w.dialed(c.client, u, asksOutside, waitsForOperator)
			session := a.selects("INT-001")
			var ends []func() (answer, error)
			for i := range many {
				ends = append(ends, a.begin("write_to_file", outsideCall(session, fmt.Sprint("n", i))))
			}
			inbox := w.inbox()
			requests := w.pending(inbox, many)
			for range many {
				if c.forms {
					<-shown
				}
			}
			for range 10 {
				a.ok("read_file", args{"path": "src/a.txt", "session": session})
			}
			check.Equal(t, len(w.records(`"kind":"mutation"`)), 0)
			for _, r := range requests {
				if c.forms {
					told <- accepts(args{"decision": decisionOnce})
				} else if _, _, err := inbox.Answer(r.ID, approval.Answer{Decision: approval.Once}); err != nil {
					t.Fatal(err) // fifty programs to answer them would take the test's time
				}
			}
			for i, end := range ends {
				if r, err := end(); err != nil || r.IsError {
					t.Errorf("call %d: %v %+v", i, err, r)
				}
				w.want(fmt.Sprintf("docs/n%d.md", i), fmt.Sprintf("n%d\n", i))
			}
		})
	}
}

// A client that did not declare forms is never sent one (typescript.show holds
// it to that), and where only it could be asked the refusal stands.
func TestWithoutFormsNobodyIsAsked(t *testing.T) {
	for i, c := range []string{"typescript1/stdio", "typescript2/http/modern"} {
		for j, elicitation := range []any{nil, args{"url": args{}}} {
			if !check.Long() && i != j {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", c, elicitation), func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				var a agent
				for _, one := range connectionsFor(nil, elicitation) {
					if one.name == c {
						a = agent{t, one.connect(w, waitsForOperator)}
					}
				}
				a.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/x", "content": ""})
				a.refused("SCOPE_VIOLATION", "write_to_file", outsideCall(a.selects("INT-001"), "x"))
				if waiting, err := w.inbox().Pending(); err != nil || len(waiting) != 0 {
					t.Errorf("%d requests wait: %v", len(waiting), err)
				}
			})
		}
	}
}
