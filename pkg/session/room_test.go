package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// One principal takes nothing from others, and many do not take all memory.
func TestRoomIsBounded(t *testing.T) {
	const limit = 3
	owner := func(key string) string { name, _, _ := strings.Cut(key, " "); return name }
	used, now := map[string]int64{}, int64(0)
	add := func(principal string) {
		session.MakeRoom(used, owner, principal, limit)
		now++
		used[fmt.Sprint(principal, " ", now)] = now
	}
	add("first")
	for range 10 * limit {
		add("greedy")
	}
	check.That(t, len(used) == limit+1 && used["first 1"] == 1, "%v", used)
	for n := range 10 * session.PrincipalsHeld * limit {
		add(fmt.Sprint("one of many ", n))
		check.Must(t, len(used) <= session.PrincipalsHeld*limit, "%d are held", len(used))
	}
	check.That(t, used["first 1"] == 0 && len(used) == session.PrincipalsHeld*limit, "the longest unused is still there of %d", len(used))
}
