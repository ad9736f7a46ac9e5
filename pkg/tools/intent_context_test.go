package tools_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestContextSaysThatItsTraceMayLackRecords as long as the ledger's index is being made, also where it has none at all.
func TestContextSaysThatItsTraceMayLackRecords(t *testing.T) {
	b := newBench(t, map[string]string{".orchestration/active_intents.yaml": "active_intents:\n" +
		"  - {id: INT-005, name: Everything, status: IN_PROGRESS, owned_scope: [\"**\"]}\n" +
		"  - {id: INT-OLD, name: Old, status: IN_PROGRESS, owned_scope: [\"**\"]}\n"})
	for id, missing := range map[string]bool{"INT-005": false, "INT-OLD": true} {
		context := b.ok("select_active_intent", args{"intent_id": id}).str("context")
		check.Equal(t, strings.Contains(context, "Older records may be missing"), missing, context)
	}
}
