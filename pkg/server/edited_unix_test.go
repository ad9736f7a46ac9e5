//go:build unix

package server_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A server that is killed between the answer and its use leaves the edit to the next one, which makes it once.
func TestEditOutlivesAKilledServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-001\n")
	operator := &bench{t: t, dir: dir}
	first := startChild(t, dir)
	check.OK(t, first.greet())
	selected := check.Value(first.call("select_active_intent", args{"intent_id": "INT-001"}))(t)
	call := args{"session": selected.StructuredContent.Session, "path": "src/n", "content": "asked"}
	gone := make(chan error, 1)
	go func() {
		_, err := first.call("write_to_file", call)
		gone <- err
	}()
	r := check.Value(operator.inbox().Get(operator.pending()))(t)
	first.kill()
	check.Is(t, <-gone, errKilled)
	operator.edits(r.ID, "made")

	next := startChild(t, dir)
	check.OK(t, next.greet())
	made := check.Value(next.call("write_to_file", call))(t)
	check.That(t, !made.IsError && operator.read("src/n") == "made", "%+v", made)
	check.That(t, operator.inbox().Spent(r.ID), "the answer can still be used")
	check.OK(t, next.end())
	operator.verify()
}
