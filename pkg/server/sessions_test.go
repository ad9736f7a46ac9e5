package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// Two chats over one process: each has its session, a call with neither
// session nor intent_id is refused with what to add, and intent_id chooses.
func TestTwoChatsOnOneConnection(t *testing.T) {
	t.Parallel()
	b, one := start(t, newWorkspace(t)).under("INT-001")
	b.ok("write_to_file", args{"path": "src/only.txt", "content": "x"})
	five := b.selects("INT-005")
	r := b.refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/b", "content": "x"})
	for _, part := range []string{one, five, "INT-001", "INT-005"} {
		if !strings.Contains(r.str("suggestion"), part) {
			t.Errorf("the suggestion lacks %s: %s", part, r.str("suggestion"))
		}
	}
	r = b.refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/b", "content": "x", "intent_id": "INT-002"})
	check.That(t, !strings.Contains(r.str("error"), one), "the error has a handle; only the suggestion may")
	b.ok("write_to_file", args{"path": "anywhere", "content": "x", "intent_id": "INT-005"})
	b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": "anywhere", "content": "y", "intent_id": "INT-001"})
	b.refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/b", "content": "x", "session": one, "intent_id": "INT-005"})
	// A read without handle counts for every live selection.
	b.ok("read_file", args{"path": "src/a.txt"})
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "1\n", "session": one})
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "2\n", "session": five})
	for _, line := range b.ledgerLines() {
		check.Must(t, !strings.Contains(line, one) && !strings.Contains(line, five), "a record has a handle: %s", line)
	}
}

// Selecting with `session` replaces that session's intent; the handle stays,
// and so does what was seen.
func TestSelectWithSessionSwitches(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			b := start(t, newWorkspace(t)).connectAs(era)
			s := b.selects("INT-001")
			b.ok("read_file", args{"path": "docs/other.md", "session": s})
			b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": "docs/other.md", "content": "x", "session": s})
			r := b.ok("select_active_intent", args{"intent_id": "INT-002", "session": s})
			check.That(t, r.str("session") == s && r.str("intent_id") == "INT-002", "%v", r.Object)
			b.ok("write_to_file", args{"path": "docs/other.md", "content": "x", "session": s})
			b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": "src/b", "content": "x", "session": s})
			got := b.ok("get_active_intent", args{"session": s})
			check.That(t, got.str("intent_id") == "INT-002" && got.str("session") == s, "%v", got.Object)
		})
	}
}

// A modern request without a handle has no state, whatever was selected
// before it on the same connection.
func TestModernHasNoStateWithoutHandle(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connectAs(modern)
	s := b.selects("INT-001")
	b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/b", "content": "x"})
	b.refused("MISSING_OR_INVALID_INTENT", "get_active_intent", args{})
	b.ok("read_file", args{"path": "src/a.txt"})
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "x", "session": s})
	again := b.selects("INT-001")
	check.That(t, again != s, "selecting again without a handle continued a session that nobody named")
}

// A handle serves on another connection; what is keyed by the connection does not.
func TestHandleOnAnotherConnection(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	for _, era := range []string{legacy, modern} {
		other := b.another(era)
		other.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/b", "content": "x"})
		other.ok("write_to_file", args{"path": "src/by-" + era, "content": "x", "session": s})
		other.hangUp()
	}
	b.ok("write_to_file", args{"path": "src/after.txt", "content": "x"})
}

// A selection ends when its intent is done or blocked, also by a person's
// hand in the file.
func TestSelectionEndsWithItsIntent(t *testing.T) {
	t.Parallel()
	for status, eras := range map[string][]string{"DONE": {legacy, modern}, "BLOCKED": {legacy}, "COMPLETED": {modern}} {
		for _, era := range eras {
			b := start(t, newWorkspace(t)).connectAs(era)
			s := b.selects("INT-001")
			b.ok("write_to_file", args{"path": "src/b", "content": "x", "session": s})
			check.Write(t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "status: IN_PROGRESS", "status: "+status, 1))
			r := b.refused("INTENT_NOT_ACTIVE", "write_to_file", args{"path": "src/b", "content": "y", "session": s})
			available, _ := r.details()["available"].([]any)
			check.That(t, len(available) != 0 && !strings.Contains(fmt.Sprint(available), "INT-001"), "available: %v", available)
			b.ok("read_file", args{"path": "src/a.txt", "session": s})
			// Reopening it does not bring the selection back.
			check.Write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML)
			b.refused("INTENT_NOT_ACTIVE", "write_to_file", args{"path": "src/b", "content": "y", "session": s})
			b.ok("write_to_file", args{"path": "src/c", "content": "y", "session": b.selects("INT-001")})
		}
	}
}

// What an initialize-era connection read before its first selection belongs to it.
func TestReadsBeforeTheFirstSelection(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	b.ok("read_file", args{"path": "src/a.txt"})
	one := b.selects("INT-001")
	five := b.selects("INT-005")
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "x\n", "session": one})
	check.Write(t, b.dir, "src/a.txt", "one\ntwo\nthree\n")
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "y\n", "session": five})
}

// A handle expires after its idle lifetime, and every tool that is given it
// says so.
func TestHandleExpires(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		now := clockFrom(time.Now())
		b := start(t, newWorkspace(t), now.set, func(o *server.Options) { o.Settings.Session.Idle = time.Hour }).connectAs(era)
		r := b.ok("select_active_intent", args{"intent_id": "INT-001"})
		left := r.Object["expires_in_seconds"].(float64)
		check.That(t, left >= 3500 && left <= 3600, "expires_in_seconds %v", left)
		s := r.str("session")
		now.forward(50 * time.Minute)
		b.ok("write_to_file", args{"path": "src/b", "content": "x", "session": s})
		now.forward(50 * time.Minute) // used in between
		b.ok("write_to_file", args{"path": "src/b", "content": "y", "session": s})
		now.forward(61 * time.Minute)
		for tool, arguments := range map[string]args{
			"write_to_file": {"path": "src/b", "content": "z"}, "read_file": {"path": "src/a.txt"}, "get_active_intent": {},
			"select_active_intent": {"intent_id": "INT-001"}, "request_scope_expansion": {"paths": []string{"lib/**"}, "reason": "r", "intent_id": "INT-001"},
		} {
			arguments["session"] = s
			b.refused("SESSION_EXPIRED", tool, arguments)
		}
		b.refused("SESSION_EXPIRED", "read_file", args{"path": "src/a.txt", "session": "ses_" + strings.Repeat("x", 40)})
	}
}

// A restart of the server keeps handles and what was seen.
func TestRestartKeepsSessions(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir).under("INT-001")
	b.ok("read_file", args{"path": "src/a.txt", "session": s})
	b.ok("write_to_file", args{"path": "src/own.txt", "content": "x", "session": s})
	b.hangUp()
	b.close()
	for _, era := range []string{modern, legacy} {
		b = start(t, dir).connectAs(era)
		b.ok("write_to_file", args{"path": "src/a.txt", "content": era, "session": s})
		b.ok("write_to_file", args{"path": "src/own.txt", "content": era, "session": s})
		b.hangUp()
		b.close()
	}
}
