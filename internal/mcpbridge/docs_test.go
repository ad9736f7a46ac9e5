package mcpbridge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// TestDocumentedLimits holds the limits in docs/transports.md to the constants.
func TestDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile("../../docs/transports.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range mcpbridge.LimitsAsDocumented() {
		if !strings.Contains(string(page), part) {
			t.Errorf("docs/transports.md does not say %q", part)
		}
	}
}
