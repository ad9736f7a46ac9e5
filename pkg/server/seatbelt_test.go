package server_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// TestSeatbelt: what a failed trial found stands in the result of a command, which then runs at none; and at level seatbelt a command
// runs held by it or not at all.
func TestSeatbelt(t *testing.T) {
	tried := func(says error) func(*server.Options) {
		return func(o *server.Options) {
			o.Ability = sandbox.WithSeatbelt(func() sandbox.Ability { return sandbox.Ability{Level: sandbox.None} }, func() error { return says })
		}
	}
	b, s := start(t, newWorkspace(t), tried(errors.New("a command could kill"))).under("INT-001")
	r := b.OK("execute_command", args{"session": s, "command": "true"})
	check.That(t, r.Str("sandbox") == "none" && strings.Contains(r.Text, "a command could kill"), "%s", r.Text)

	b, s = start(t, newWorkspace(t), tried(nil)).under("INT-001")
	line := args{"session": s, "command": "touch src/made"}
	if runtime.GOOS != "darwin" {
		b.Refused("SANDBOX_UNAVAILABLE", "execute_command", line)
		check.That(t, !b.exists("src/made"), "it ran")
		return
	}
	r = b.OK("execute_command", line)
	check.That(t, r.Str("sandbox") == "seatbelt" && b.exists("src/made") && b.lastRecord(record.KindCommand).Command.Sandbox == "seatbelt", "%s", r.Text)
}
