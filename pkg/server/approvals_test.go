package server_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// asks has the settings put everything askable to the operator.
func asks(o *server.Options) {
	a := &o.Settings.Approvals
	a.ScopeViolation, a.IgnoredPath, a.MissingIntent, a.ProgramConfig = settings.Ask, settings.Ask, settings.Ask, settings.Ask
}

// waits has calls wait for an answer that is sure to come.
func waits(o *server.Options) { o.Settings.Approvals.Wait = time.Minute }

// inbox is the operator's side, as another process of the same user has it.
func (b *bench) inbox() *approval.Store {
	b.t.Helper()
	root := check.Value(os.OpenRoot(b.dir))(b.t)
	b.t.Cleanup(func() { root.Close() })
	return approval.Open(root, approval.Options{UserDir: cmp.Or(b.userDir, settings.UserDir(os.Environ()))})
}

func (b *bench) answers(id string, d approval.Decision, reason string) {
	b.t.Helper()
	_, _, err := b.inbox().Answer(id, approval.Answer{Decision: d, Reason: reason, By: "op", Via: approval.Inbox})
	check.OK(b.t, err)
}

// required makes a call that has to be answered, and returns the request.
func (b *bench) required(tool string, a args) string {
	b.t.Helper()
	id, _ := b.Refused("APPROVAL_REQUIRED", tool, a).Details()["approval_id"].(string)
	check.Must(b.t, strings.HasPrefix(id, "apr_"), "no id")
	return id
}

func TestApprovedCallPassesOnceAndNoOther(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"same call", "resume_approval"} {
		t.Run(how, func(t *testing.T) {
			b, s := start(t, newWorkspace(t), asks).under("INT-001")
			call := args{"session": s, "path": "docs/n.md", "content": "new\n"}
			id := b.required("write_to_file", call)
			b.answers(id, approval.Once, "")
			other := args{"session": s, "path": "docs/n.md", "content": "other\n"}
			check.Must(t, b.required("write_to_file", other) != id, "another content is the same request")
			if how == "same call" {
				b.OK("write_to_file", call)
			} else {
				r := b.OK("resume_approval", args{"session": s, "approval_id": id})
				check.That(t, r.Str("status") == "executed" && r.Str("tool") == "write_to_file" && strings.Contains(r.Text, "docs/n.md"),
					"%v", r.Object)
				b.Refused("FILE_NOT_FOUND", "resume_approval", args{"session": s, "approval_id": id})
			}
			check.Equal(t, b.read("docs/n.md"), "new\n", "wrote")
			check.OK(t, os.Remove(filepath.Join(b.dir, "docs/n.md")))
			again := b.Call("write_to_file", call)
			check.That(t, again.Error, "approved once, and it passed twice")
			b.wantRecord(`"outcome":"asked"`, id, "SCOPE_VIOLATION")
		})
	}
}

// An intent that an agent blocks and the operator opens again has no grants, also if nobody looked in between.
func TestGrantEndsWithTheStepThatEndsItsIntent(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-001")
	put := args{"session": s, "path": "docs/a.md", "content": "1"}
	b.answers(b.required("write_to_file", put), approval.ForIntent, "")
	b.OK("write_to_file", put)
	b.OK("update_intent", args{"session": s, "intent_id": "INT-001", "status": "BLOCKED", "note": "waiting"})
	grants, err := b.inbox().Grants()
	check.That(t, err == nil && len(grants) == 0, "the grants of a blocked intent stand: %+v %v", grants, err)
}

func TestMissingIntentIsRecordedAsUntracked(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), asks).connect()
	call := args{"path": "src/n", "content": "x"}
	b.answers(b.required("write_to_file", call), approval.Once, "")
	b.OK("write_to_file", call)
	b.wantRecord(`"kind":"mutation"`, `"intent_id":"UNTRACKED"`, "src/n")
}

func TestSelectionIsPutToTheOperator(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Approvals.SelectIntent = settings.Ask }).connect()
	id := b.required("select_active_intent", args{"intent_id": "INT-001"})
	b.Refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-003"})
	b.answers(id, approval.Once, "")
	check.That(t, b.required("select_active_intent", args{"intent_id": "INT-002"}) != id, "another intent is the same question")
	s := b.Selects("INT-001")
	b.OK("write_to_file", args{"session": s, "path": "src/n", "content": "x"})
}

// Two servers share one inbox, and one answer lets one call pass.
func TestTwoServersOneInbox(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	one, two := start(t, dir, asks).connect(), start(t, dir, asks).connect()
	call := args{"session": one.Selects("INT-001"), "path": "docs/n", "content": "x"}
	id := one.required("write_to_file", call)
	check.Equal(t, two.required("write_to_file", call), id, "the other server put a question of its own")
	two.answers(id, approval.Once, "")
	var passed atomic.Int32
	var wg sync.WaitGroup
	for _, b := range []*bench{one, two} {
		wg.Go(func() {
			if r := b.Call("write_to_file", call); !r.Error {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	check.Equal(t, passed.Load(), 1, "passed")
}

// Fifty calls wait for the operator while reads are served; each is let through by its own answer.
func TestFiftyWaitWhileReadsAreServed(t *testing.T) {
	t.Parallel()
	const many = 50
	b, s := start(t, newWorkspace(t), asks, waits).under("INT-001")
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			b.OK("write_to_file", args{"session": s, "path": "docs/" + strings.Repeat("n", i+1), "content": "x"})
		})
	}
	inbox := b.inbox()
	for answered := 0; answered < many; {
		b.OK("read_file", args{"session": s, "path": "src/a.txt"})
		pending := check.Value(inbox.Pending())(t)
		if answered == 0 && len(pending) < many {
			continue // all of them wait at once
		}
		for _, r := range pending {
			b.answers(r.ID, approval.Once, "")
			answered++
		}
	}
	wg.Wait()
}

// A call that is given up while it waits does nothing, also after a yes.
func TestGivenUpWhileWaiting(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks, waits).under("INT-001")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.client.CallTool(ctx, &mcp.CallToolParams{Name: "write_to_file", Arguments: args{"session": s, "path": "docs/n", "content": "x"}})
		done <- err
	}()
	id := b.pending()
	cancel()
	if err := <-done; err == nil {
		t.Error("the call was answered")
	}
	b.OK("read_file", args{"session": s, "path": "src/a.txt"}) // behind which the server knows it
	b.answers(id, approval.Once, "")
	b.OK("read_file", args{"session": s, "path": "src/a.txt"})
	if _, err := os.Stat(filepath.Join(b.dir, "docs/n")); err == nil {
		t.Error("a call that was given up took effect")
	}
}

// pending waits for the one request in the inbox.
func (b *bench) pending() string {
	b.t.Helper()
	inbox := b.inbox()
	for {
		found := check.Value(inbox.Pending())(b.t)
		if len(found) > 0 {
			return found[0].ID
		}
		check.Must(b.t, b.t.Context().Err() == nil, "nothing is asked")
		time.Sleep(time.Millisecond)
	}
}

// dialUser connects a client whose user can be asked.
func (b *bench) dialUser(version string, user func(*mcp.ElicitRequest) *mcp.ElicitResult) *bench {
	b.t.Helper()
	b.t.Cleanup(b.close)
	return b.dial(version, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return user(r), nil },
	})
}

func TestElicitationDecides(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			var say atomic.Pointer[mcp.ElicitResult]
			var shown atomic.Pointer[string]
			b := start(t, newWorkspace(t), waits).dialUser(era, func(r *mcp.ElicitRequest) *mcp.ElicitResult {
				shown.Store(&r.Params.Message)
				return say.Load()
			})
			s := b.Selects("INT-001")
			put := func(path string) args { return args{"session": s, "path": path, "content": "hello\n"} }
			accept := func(d string) {
				say.Store(&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": d, "reason": "my words"}})
			}
			accept("approve_once")
			b.OK("write_to_file", put("docs/1"))
			for _, want := range []string{"docs/1", "SCOPE_VIOLATION", "INT-001", "+hello"} {
				if !strings.Contains(*shown.Load(), want) {
					t.Errorf("not shown: %q in\n%s", want, *shown.Load())
				}
			}
			b.wantRecord(`"outcome":"approved"`, `"way":"elicitation"`, "docs/1")
			accept("deny")
			r := b.Refused("APPROVAL_REJECTED", "write_to_file", put("docs/2"))
			check.Equal(t, r.Details()["operator_reason"], "my words")
			b.wantRecord(`"outcome":"denied"`, `"way":"elicitation"`, "docs/2")
			say.Store(&mcp.ElicitResult{Action: "decline"})
			b.Refused("APPROVAL_REJECTED", "write_to_file", put("docs/3"))
			say.Store(&mcp.ElicitResult{Action: "cancel"})
			b.Refused("APPROVAL_REQUIRED", "write_to_file", put("docs/4"))
			accept("approve_for_intent")
			b.OK("write_to_file", put("docs/5"))
			shown.Store(nil)
			b.OK("edit_file", args{"session": s, "path": "docs/5", "old_string": "hello", "new_string": "bye"})
			check.That(t, shown.Load() == nil, "asked although it is granted")
			pending, _ := b.inbox().Pending()
			check.That(t, len(pending) == 1, "%d wait, not the one that was put away", len(pending))
		})
	}
}
