package syntax_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/syntax"
)

// The tables name only kinds and fields that their grammars have.
func TestTables(t *testing.T) {
	for _, unknown := range syntax.Unknown(t.Context()) {
		t.Error(unknown)
	}
}
