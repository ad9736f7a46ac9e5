package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// A yes to a wider scope or a new intent has its effect although the session, and the server, of the agent that asked are
// gone. It is made once, recorded with the approval, and leaves no answer that could be used again.
func TestYesOutlivesTheSessionThatAsked(t *testing.T) {
	t.Parallel()
	for tool, c := range map[string]struct {
		arguments args
		stands    string
	}{
		"request_scope_expansion": {args{"paths": []string{"lib/**"}, "reason": "needed"}, `["src/**", "go.mod", "lib/**"]`},
		"propose_intent":          {args{"name": "New work", "owned_scope": []string{"new/**"}, "description": "Because."}, "id: INT-006"},
	} {
		t.Run(tool, func(t *testing.T) {
			dir, way := newWorkspace(t), briefly(t)
			b := start(t, dir, way).connect()
			c.arguments["session"] = b.selects("INT-001")
			r := b.asks(b.operator(way), tool, c.arguments)
			b.close()

			later := start(t, dir, way).connect()
			inbox := later.operator(way)
			answers(t, inbox, r, approval.Once, "")
			for range 2 { // the second finds it done
				check.Value(later.server.CarryOut(t.Context(), r))(t)
			}
			text := later.read(".orchestration/active_intents.yaml")
			check.That(t, strings.Contains(text, c.stands), "the yes had no effect:\n%s", text)
			later.wantRecord(`"kind":"lifecycle"`, `"call":"`+tool+`"`, r.ID)
			standing, err := inbox.Standing(r.Digest)
			check.That(t, err == nil && standing.Approved == nil, "the answer can still be used: %+v %v", standing, err)
		})
	}
}

// What was not approved is not carried out: an unanswered or denied request, and one whose file is another by now.
func TestCarriesOutNothingElse(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	b := start(t, newWorkspace(t), way).connect()
	inbox := b.operator(way)
	want := func(r approval.Request) {
		t.Helper()
		before := b.read(".orchestration/active_intents.yaml")
		text, err := b.server.CarryOut(t.Context(), r)
		check.That(t, err != nil, "carried out: %s", text)
		check.Equal(t, b.read(".orchestration/active_intents.yaml"), before, "the intents were changed")
	}
	wider := func(path string) approval.Request {
		return b.asks(inbox, "request_scope_expansion", args{"intent_id": "INT-001", "paths": []string{path}, "reason": "r"})
	}
	pending, denied, stale := wider("a/**"), wider("b/**"), wider("c/**")
	want(pending)
	answers(t, inbox, denied, approval.Deny, "no")
	want(denied)
	answers(t, inbox, stale, approval.Once, "")
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML+"# by hand\n")
	want(stale)
}

// A call that still waits is not in the way of the operator's command, nor that in its: both end with the change made once.
func TestCarryOutBesideTheCallThatWaits(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"the command comes first", "the command comes first, and its answer is swept", "the call comes first"} {
		t.Run(way, func(t *testing.T) {
			user := briefly(t)
			b := start(t, newWorkspace(t), user, func(o *server.Options) { o.Settings.Approvals.Wait = time.Minute }).connect()
			inbox := b.operator(user)
			done := make(chan reply, 1)
			go func() {
				done <- b.call("request_scope_expansion", args{"intent_id": "INT-001", "paths": []string{"lib/**"}, "reason": "r"})
			}()
			var r approval.Request
			b.eventually("the request", func() bool {
				pending, err := inbox.Pending()
				if err != nil || len(pending) == 0 {
					return false
				}
				r = pending[0]
				return true
			})
			answers(t, inbox, r, approval.Once, "")
			var waited reply
			if way == "the call comes first" {
				waited = <-done
			}
			if _, err := b.server.CarryOut(t.Context(), r); err != nil {
				t.Error(err)
			}
			if way == "the command comes first, and its answer is swept" {
				if _, err := inbox.Pending(); err != nil {
					t.Error(err)
				}
			}
			if way != "the call comes first" {
				waited = <-done
			}
			check.That(t, !waited.Error, "the call that waited: %v", waited.Object)
			check.Equal(t, strings.Count(b.read(".orchestration/active_intents.yaml"), "lib/**"), 1, "the scope has it")
		})
	}
}

// A call that waits has used the answer and is at the edit: the operator's command waits for it.
func TestCarryOutBehindTheCallThatIsAtIt(t *testing.T) {
	t.Parallel()
	user := briefly(t)
	b := start(t, newWorkspace(t), user).connect()
	inbox := b.operator(user)
	r := b.asks(inbox, "request_scope_expansion", args{"intent_id": "INT-001", "paths": []string{"lib/**"}, "reason": "r"})
	answers(t, inbox, r, approval.Once, "")
	a := check.Value(inbox.AnswerOf(r.ID))(t)
	if used, err := inbox.Use(a); err != nil || !used {
		t.Fatal(used, err)
	}
	tries := func() int { return strings.Count(strings.Join(b.ledgerLines(), "\n"), "APPROVAL_REQUIRED") }
	asked := tries()
	done := make(chan error, 1)
	go func() {
		_, err := b.server.CarryOut(context.Background(), r)
		done <- err
	}()
	b.eventually("the first try", func() bool { return tries() > asked })
	intents := b.read(".orchestration/active_intents.yaml")
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intents, `["src/**"`, `["lib/**", "src/**"`, 1))
	check.NoError(t, <-done)
}

// Requests of one kind are told apart by their subjects.
func TestSubjectsTellRequestsApart(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-001\n")
	check.Write(t, dir, "src/a.txt", "one\ntwo\n")
	b, s := start(t, dir, way).under("INT-001")
	b.ok("read_file", args{"session": s, "path": "src/a.txt"})
	seen := map[string]string{}
	for i, call := range []struct {
		tool string
		args args
	}{
		{"request_scope_expansion", args{"paths": []string{"lib/**"}, "reason": "needed"}},
		{"request_scope_expansion", args{"paths": []string{"lib/**", "web/**"}, "reason": "needed"}},
		{"propose_intent", args{"name": "One", "owned_scope": []string{"one/**"}, "description": "d"}},
		{"propose_intent", args{"name": "Two", "owned_scope": []string{"one/**"}, "description": "d"}},
		{"write_to_file", args{"path": "src/a.txt", "content": "one\n"}},
		{"write_to_file", args{"path": "src/a.txt", "content": "one\ntwo\nthree\n"}},
		{"write_to_file", args{"path": "src/new.txt", "content": "one\n"}},
		{"execute_command", args{"command": "true"}},
		{"execute_command", args{"command": "true", "cwd": "src"}},
	} {
		call.args["session"] = s
		r := b.asks(b.operator(way), call.tool, call.args)
		subject := r.Subject()
		other, taken := seen[subject]
		check.That(t, !taken && !strings.Contains(subject, "active_intents"), "%d %s: %q is the subject of %q as well", i, call.tool, subject, other)
		seen[subject] = call.tool
		check.Equal(t, ask.ForNobody(r), (call.tool == "request_scope_expansion" || call.tool == "propose_intent"), "%s", call.tool)
	}
}
