package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// operator answers for a workspace in one way, beside an agent at a client.
type operator struct {
	agent
	w   *workspace
	way way
	// sessions are the handles of the intents that are selected.
	sessions map[string]string
}

// subjects are one for each answer.
func subjects() []string {
	return []string{"left", "denied", "declined", "once", "granted", "first", "beside"}
}

// TestEveryAskableRefusalIsAnsweredInEachWay is the table of SPEC 9: each row is a refusal that the operator can lift,
// each column a client and the way in which its operator is asked, and each field has all answers. With
// ORCHESTRA_LONG=1 every column is tried and has every row; else one has, and some have one of each kind.
func TestEveryAskableRefusalIsAnsweredInEachWay(t *testing.T) {
	long := check.Long()
	for _, column := range []struct {
		client string
		way    way
		rows   rows
	}{
		// The form as a request of the server, in the middle of the call.
		{"typescript1/stdio", newInForm(), briefRows},
		{"typescript1/http", newInForm(), longOnly},
		{"typescript1/sse", newInForm(), longOnly},
		{"typescript2/stdio", newInForm(), longOnly},
		{"go/http", newInForm(), everyRow},
		// The form as the call's result, and the answer with the same call again.
		{"typescript2/stdio/modern", newInForm(), longOnly},
		{"typescript2/http/modern", newInForm(), longOnly},
		{"go/http/modern", newInForm(), longOnly},
		// Another terminal, for a client without forms, when the call has come back.
		{"typescript1/stdio", inInbox{}, longOnly},
		{"typescript2/stdio/modern", inInbox{}, longOnly},
		{"typescript1/http", inInbox{resume: true}, longOnly},
		{"typescript2/http/modern", inInbox{resume: true}, briefRows},
		// The same while the call waits.
		{"typescript1/stdio", inInboxMeanwhile{}, longOnly},
		{"typescript2/http/modern", inInboxMeanwhile{}, briefRows},
	} {
		if !long && column.rows == longOnly {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", column.client, column.way.name()), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.askAboutEverything()
			o := w.operator(column.client, column.way)
			for _, row := range askables() {
				if long || column.rows == everyRow || row.brief {
					t.Run(row.name, func(t *testing.T) { o.on(t).answersAll(row) })
				}
			}
		})
	}
}

// rows are those of a column that need no ORCHESTRA_LONG=1.
type rows int

const (
	longOnly  rows = iota
	briefRows      // one of each kind: a path, a command, a governance tool
	everyRow
)

// operator connects an agent whose operator answers in a way.
func (w *workspace) operator(client string, by way, env ...string) *operator {
	w.t.Helper()
	for _, c := range connectionsFor(by.user(), false) {
		if c.name == client {
			o := &operator{newAgent(w.t, c.connect(w, append(env, by.settings())...)), w, by, map[string]string{}}
			var tools any
			o.get("listTools", nil, &tools) // the clients learn here what to validate against
			return o
		}
	}
	w.t.Fatalf("no client %s", client)
	return nil
}

// on lets a subtest fail in its own name.
func (o *operator) on(t *testing.T) *operator {
	return &operator{o.agent.on(t), o.w.on(t), o.way, o.sessions}
}

// answersAll gives each answer that there is to calls that one thing stops.
func (o *operator) answersAll(row askable) {
	if row.intent != "" && o.sessions[row.intent] == "" {
		r, _ := o.way.put(o, "select_active_intent", args{"intent_id": row.intent}, accepts(args{"decision": decisionOnce}))
		o.sessions[row.intent] = r.Str("session")
	}
	o.leaves(row)
	o.denies(row)
	o.approvesOnce(row)
	o.approvesForIntent(row)
	o.way.unasked(o.T)
}

func (o *operator) arguments(row askable, subject string, round int) args {
	arguments := row.call(subject, round)
	if row.intent != "" {
		arguments["session"] = o.sessions[row.intent]
	}
	return arguments
}

// put has a reply be given to the row's call, and looks at what was shown.
func (o *operator) put(row askable, subject string, round int, r reply) (answer, displayed) {
	o.T.Helper()
	result, shown := o.way.put(o, row.tool, o.arguments(row, subject, round), r)
	for _, text := range row.shows {
		text = strings.ReplaceAll(text, "%s", subject)
		check.That(o.T, strings.Contains(shown.text, text), "the operator is not shown %q:\n%s", text, shown.text)
	}
	check.Equal(o.T, shown.forIntent, (row.once == ""), "the answer for the intent is offered")
	return result, shown
}

// demand holds a result to a code, "" for success, and to its effect.
func (o *operator) demand(row askable, r answer, code, subject string, round int) {
	o.T.Helper()
	got, _ := r.Object["error_type"].(string)
	check.Must(o.T, r.Error == (code != "") && got == code, "%s: want %q, got %s", subject, code, r.Text)
	took := row.took(o.w, subject, round)
	check.Must(o.T, took == (code == ""), "%s ended with %q, and took effect: %v\n%s", subject, code, took, r.Text)
}

// recorded demands one more decision in the ledger while something is done.
func (o *operator) recorded(outcome string, do func()) {
	o.T.Helper()
	parts := []string{`"kind":"decision"`, `"outcome":"` + outcome + `"`, `"way":"` + o.way.via() + `"`}
	before := len(o.w.records(parts...))
	do()
	check.Equal(o.T, len(o.w.records(parts...))-before, 1)
}

// leaves: a question that is put away leaves the call refused, and is in the inbox still.
func (o *operator) leaves(row askable) {
	if _, waits := o.way.(inInboxMeanwhile); waits {
		return // see TestTimeOut
	}
	r, shown := o.put(row, "left", 1, reply{Action: "cancel"})
	o.demand(row, r, "APPROVAL_REQUIRED", "left", 1)
	id, _ := r.Details()["approval_id"].(string)
	title, _, _ := strings.Cut(shown.text, "\n")
	check.That(o.T, strings.Contains(o.w.commands("approvals", "show", id), title), "approvals show does not say %q", title)
	o.w.answers(id, accepts(args{"decision": decisionOnce}))
	o.demand(row, o.Call(row.tool, o.arguments(row, "left", 1)), "", "left", 1)
	o.way.unasked(o.T)
}

// denies: a no refuses, with the operator's words if there are any.
func (o *operator) denies(row askable) {
	o.recorded("denied", func() {
		r, _ := o.put(row, "denied", 1, accepts(args{"decision": decisionDeny, "reason": "not in this release"}))
		o.demand(row, r, "APPROVAL_REJECTED", "denied", 1)
		check.That(o.T, r.Details()["operator_reason"] == "not in this release" && strings.Contains(r.Str("error"), "not in this release"),
			"the reason did not reach the agent: %s", r.Text)
	})
	o.demand(row, o.Call(row.tool, o.arguments(row, "denied", 1)), "APPROVAL_REJECTED", "denied", 1)
	o.way.unasked(o.T)
	if o.way.user() != nil {
		r, _ := o.put(row, "declined", 1, reply{Action: "decline"})
		o.demand(row, r, "APPROVAL_REJECTED", "declined", 1)
	}
}

// approvesOnce: a yes lets the call pass, and the next one is asked about.
func (o *operator) approvesOnce(row askable) {
	o.recorded("approved", func() {
		r, _ := o.put(row, "once", 1, accepts(args{"decision": decisionOnce}))
		o.demand(row, r, "", "once", 1)
	})
	if row.intent == "" {
		return // a step of an intent's life is taken, and who has no session has seen no file
	}
	r, _ := o.put(row, "once", 2, accepts(args{"decision": decisionDeny}))
	o.demand(row, r, "APPROVAL_REJECTED", "once", 2)
}

// approvesForIntent: the same check passes at the same path or line, and at no
// other, until the operator withdraws that.
func (o *operator) approvesForIntent(row askable) {
	if row.once != "" {
		o.offersNoGrant(row)
		return
	}
	r, _ := o.put(row, "granted", 1, accepts(args{"decision": decisionIntent}))
	o.demand(row, r, "", "granted", 1)
	o.demand(row, o.Call(row.tool, o.arguments(row, "granted", 2)), "", "granted", 2)
	o.way.unasked(o.T)
	r, _ = o.put(row, "beside", 1, accepts(args{"decision": decisionDeny}))
	o.demand(row, r, "APPROVAL_REJECTED", "beside", 1)
	grants := o.w.grants("granted")
	check.Must(o.T, len(grants) != 0, "approvals list shows no grant")
	for _, id := range grants {
		o.w.commands("approvals", "revoke", id)
	}
	r, _ = o.put(row, "granted", 3, accepts(args{"decision": decisionDeny}))
	o.demand(row, r, "APPROVAL_REJECTED", "granted", 3)
}

// offersNoGrant: an answer that is not offered is none, in the inbox with a reason.
func (o *operator) offersNoGrant(row askable) {
	if _, at := o.way.(inInbox); !at {
		return // a client lets no answer pass that the form does not have: TestAnswersThatDoNotFit
	}
	stopped := o.Refused("APPROVAL_REQUIRED", row.tool, o.arguments(row, "first", 1))
	id, _ := stopped.Details()["approval_id"].(string)
	out, code := o.w.command("approvals", "approve", "--yes", "--for-intent", id)
	check.That(o.T, code == 2 && strings.Contains(out, row.once), "ended with %d: %s", code, out)
	check.That(o.T, !slices.Contains(o.w.grants(""), id) && !row.took(o.w, "first", 1), "it had an effect")
}
