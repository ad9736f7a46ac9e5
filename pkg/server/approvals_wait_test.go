package server_test

import (
	"context"
	"io"
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
)

// Two servers share one inbox, and one answer lets one call pass.
func TestTwoServersOneInbox(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	one, two := start(t, dir, asks).connect(), start(t, dir, asks).connect()
	call := args{"session": one.selects("INT-001"), "path": "docs/n", "content": "x"}
	id := one.required("write_to_file", call)
	check.Equal(t, two.required("write_to_file", call), id, "the other server put a question of its own")
	two.answers(id, approval.Once, "")
	var passed atomic.Int32
	var wg sync.WaitGroup
	for _, b := range []*bench{one, two} {
		wg.Go(func() {
			if r := b.call("write_to_file", call); !r.Error {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	check.Equal(t, passed.Load(), 1, "passed")
}

// Only who asked can go on with it.
func TestAnotherSessionCannotResume(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), asks).connect()
	mine, other := b.selects("INT-001"), b.selects("INT-002")
	id := b.required("write_to_file", args{"session": mine, "path": "lib/n", "content": "x"})
	b.answers(id, approval.Once, "")
	b.refused("FILE_NOT_FOUND", "resume_approval", args{"session": other, "approval_id": id})
	b.ok("resume_approval", args{"session": mine, "approval_id": id})
}

// Fifty calls wait for the operator while reads are served; each is let through
// by its own answer.
func TestFiftyWaitWhileReadsAreServed(t *testing.T) {
	t.Parallel()
	const many = 50
	b, s := start(t, newWorkspace(t), asks, waits).under("INT-001")
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			b.ok("write_to_file", args{"session": s, "path": "docs/" + strings.Repeat("n", i+1), "content": "x"})
		})
	}
	inbox := b.inbox()
	for answered := 0; answered < many; {
		b.ok("read_file", args{"session": s, "path": "src/a.txt"})
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
	b.answers(id, approval.Once, "")
	b.ok("read_file", args{"session": s, "path": "src/a.txt"})
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
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- b.server.ServeStdio(context.Background(), toServer, fromServer) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "asker", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return user(r), nil },
	})
	session := check.Value(client.Connect(b.t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: version}))(b.t)
	b.client = session
	b.t.Cleanup(func() { session.Close(); fromClient.Close(); <-done })
	return b
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
			s := b.selects("INT-001")
			put := func(path string) args { return args{"session": s, "path": path, "content": "hello\n"} }
			accept := func(d string) {
				say.Store(&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": d, "reason": "my words"}})
			}
			accept("approve_once")
			b.ok("write_to_file", put("docs/1"))
			for _, want := range []string{"docs/1", "SCOPE_VIOLATION", "INT-001", "+hello"} {
				if !strings.Contains(*shown.Load(), want) {
					t.Errorf("not shown: %q in\n%s", want, *shown.Load())
				}
			}
			b.wantRecord(`"outcome":"approved"`, `"way":"elicitation"`, "docs/1")
			accept("deny")
			r := b.refused("APPROVAL_REJECTED", "write_to_file", put("docs/2"))
			check.Equal(t, r.details()["operator_reason"], "my words")
			b.wantRecord(`"outcome":"denied"`, `"way":"elicitation"`, "docs/2")
			say.Store(&mcp.ElicitResult{Action: "decline"})
			b.refused("APPROVAL_REJECTED", "write_to_file", put("docs/3"))
			say.Store(&mcp.ElicitResult{Action: "cancel"})
			b.refused("APPROVAL_REQUIRED", "write_to_file", put("docs/4"))
			accept("approve_for_intent")
			b.ok("write_to_file", put("docs/5"))
			shown.Store(nil)
			b.ok("edit_file", args{"session": s, "path": "docs/5", "old_string": "hello", "new_string": "bye"})
			check.That(t, shown.Load() == nil, "asked although it is granted")
			pending, _ := b.inbox().Pending()
			check.That(t, len(pending) == 1, "%d wait, not the one that was put away", len(pending))
		})
	}
}
