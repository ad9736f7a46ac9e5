package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// command runs the program as the operator does in another terminal.
func (w *workspace) command(arguments ...string) (output string, code int) {
	w.t.Helper()
	cmd := exec.Command(program, append(arguments, "--workspace", w.dir)...)
	cmd.Env = w.env()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	check.Must(w.t, err == nil || errors.As(err, &exit), "%v", err)
	return string(out), cmd.ProcessState.ExitCode()
}

// commands demands success.
func (w *workspace) commands(arguments ...string) string {
	w.t.Helper()
	out, code := w.command(arguments...)
	check.Must(w.t, code == 0, "%q ended with %d: %s", arguments, code, out)
	return out
}

// content is a file's, "" if there is none.
func (w *workspace) content(name string) string {
	content, err := os.ReadFile(w.path(name))
	check.Must(w.t, err == nil || errors.Is(err, os.ErrNotExist), "%v", err)
	return string(content)
}

func (w *workspace) writeHome(name, content string) {
	w.t.Helper()
	name = filepath.Join(w.home, name)
	check.OK(w.t, os.MkdirAll(filepath.Dir(name), 0o700))
	check.OK(w.t, os.WriteFile(name, []byte(content), 0o600))
}

// inbox is the store of what is asked for, to look into without starting a process; answers go through the program.
func (w *workspace) inbox() *approval.Store {
	w.t.Helper()
	root := check.Value(os.OpenRoot(w.dir))(w.t)
	w.t.Cleanup(func() { root.Close() })
	return approval.Open(root, approval.Options{UserDir: filepath.Join(w.home, "config", "orchestra-mcp")})
}

// pending waits until so many requests wait for an answer.
func (w *workspace) pending(inbox *approval.Store, many int) []approval.Request {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		found := check.Value(inbox.Pending())(w.t)
		if len(found) >= many {
			return found
		}
		check.Must(w.t, !time.Now().After(deadline), "%d requests wait, want %d", len(found), many)
	}
}

// grants are those that stand for a path or a command line with a text in it.
func (w *workspace) grants(subject string) (ids []string) {
	w.t.Helper()
	var listed []struct{ ID, Path, Command string }
	check.OK(w.t, json.Unmarshal([]byte(w.commands("approvals", "list", "--grants", "--json")), &listed))
	for _, g := range listed {
		if strings.Contains(g.Path+g.Command, subject) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// displayed is what the operator was shown.
type displayed struct {
	text      string
	forIntent bool   // the answer could be given
	id        string // where it is known
}

// way is how an operator hears of a call that was stopped, and answers.
type way interface {
	name() string
	// user is who sits at the client; nil if it shows no forms.
	user() user
	// settings are those of the server.
	settings() string
	// via is the way's name in the ledger.
	via() string
	// put makes a call, which is asked about, has the reply be given, and returns what came of the call in the end.
	put(o *operator, tool string, arguments args, r reply) (answer, displayed)
	// unasked fails the test if somebody was asked about a call that was made.
	unasked(t *testing.T)
}

const (
	decisionOnce   = "approve_once"
	decisionIntent = "approve_for_intent"
	decisionDeny   = "deny"
)

// inForm is the form in the agent's client.
type inForm struct {
	shown chan form
	told  chan reply
}

func newInForm() *inForm { return &inForm{shown: make(chan form, 10), told: make(chan reply, 1)} }

func (f *inForm) user() user {
	return func(_ context.Context, shown form) reply {
		f.shown <- shown
		select {
		case r := <-f.told:
			return r
		default:
			return reply{Action: "cancel"} // nobody expected it
		}
	}
}

func (f *inForm) name() string     { return "form" }
func (f *inForm) settings() string { return waitsForOperator }
func (f *inForm) via() string      { return approval.Elicitation }

func (f *inForm) put(o *operator, tool string, arguments args, r reply) (answer, displayed) {
	o.T.Helper()
	f.told <- r
	result := o.Call(tool, arguments)
	select {
	case shown := <-f.shown:
		f.unasked(o.T)
		return result, displayed{text: shown.message, forIntent: strings.Contains(string(shown.schema), decisionIntent)}
	case <-f.told:
	}
	o.T.Fatalf("%s %v: nobody was asked: %s", tool, arguments, result.Text)
	return answer{}, displayed{}
}

func (f *inForm) unasked(t *testing.T) {
	t.Helper()
	select {
	case shown := <-f.shown:
		t.Errorf("asked without need: %s", shown.message)
	default:
	}
}

// inInbox is the inbox, for clients without forms. Their calls have come back before the operator looks.
type inInbox struct {
	// resume: the agent goes on with resume_approval, else with the same call.
	resume bool
}

func (i inInbox) name() string {
	if i.resume {
		return "inbox, then resume_approval"
	}
	return "inbox, then the same call"
}

func (inInbox) user() user           { return nil }
func (inInbox) settings() string     { return "ORCHESTRA_APPROVALS_WAIT=0s" }
func (inInbox) via() string          { return approval.Inbox }
func (inInbox) unasked(t *testing.T) {}

func (i inInbox) put(o *operator, tool string, arguments args, r reply) (answer, displayed) {
	o.T.Helper()
	stopped := o.Refused("APPROVAL_REQUIRED", tool, arguments)
	id, _ := stopped.Details()["approval_id"].(string)
	q := o.w.looksAt(id)
	if r.Action == "cancel" {
		return stopped, q
	}
	o.w.answers(id, r)
	if !i.resume {
		return o.Call(tool, arguments), q
	}
	resumption := args{"approval_id": id}
	if session, ok := arguments["session"]; ok {
		resumption["session"] = session
	}
	result := o.Call("resume_approval", resumption)
	if inner, ok := result.Object["result"].(map[string]any); ok {
		result.Object = inner
	}
	return result, q
}

// looksAt is a request as it is shown at the terminal.
func (w *workspace) looksAt(id string) displayed {
	w.t.Helper()
	r, err := w.inbox().Get(id)
	check.Must(w.t, err == nil, "%s is not in the inbox: %v", id, err)
	text := approval.FullViewOf(r).Message(1 << 20)
	return displayed{text, strings.Contains(text, decisionIntent), id}
}

// answers answers a request at the terminal.
func (w *workspace) answers(id string, r reply) {
	w.t.Helper()
	reason, _ := r.Content["reason"].(string)
	switch r.Content["decision"] {
	case decisionOnce:
		w.commands("approvals", "approve", "--yes", id)
	case decisionIntent:
		w.commands("approvals", "approve", "--yes", "--for-intent", id)
	case decisionDeny:
		w.commands("approvals", "deny", "--reason", reason, id)
	default:
		w.t.Fatalf("no answer for a terminal: %+v", r)
	}
}

// inInboxMeanwhile is the inbox while the call waits for the answer.
type inInboxMeanwhile struct{ inInbox }

func (inInboxMeanwhile) name() string     { return "inbox, while the call waits" }
func (inInboxMeanwhile) settings() string { return waitsForOperator }

func (i inInboxMeanwhile) put(o *operator, tool string, arguments args, r reply) (answer, displayed) {
	o.T.Helper()
	inbox := o.w.inbox()
	before := check.Value(inbox.Pending())(o.T)
	wait := o.client.(*typescript).begin("callTool", args{"name": tool, "arguments": arguments})
	waiting := o.w.pending(inbox, len(before)+1)
	id := waiting[len(waiting)-1].ID
	for _, one := range waiting {
		if !known(before, one.ID) {
			id = one.ID
		}
	}
	q := o.w.looksAt(id)
	o.w.answers(id, r)
	raw := check.Value(wait())(o.T)
	result, err := agenttest.Read(o.T, raw)
	check.Must(o.T, err == nil && result.Object != nil, "%v %s", err, raw)
	return result, q
}

func known(requests []approval.Request, id string) bool {
	for _, r := range requests {
		if r.ID == id {
			return true
		}
	}
	return false
}

var (
	_ way = (*inForm)(nil)
	_ way = inInbox{}
	_ way = inInboxMeanwhile{}
)
