package nearest_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/nearest"
)

func TestOf(t *testing.T) {
	known := []string{"verify", "why", "log", "ledger", "src/weather", "INT-001", "INT-002"}
	for name, want := range map[string]string{
		"verfy": "verify", "VERIFY": "verify", "ledgr": "ledger", "src/wether": "src/weather", "int-002": "INT-002", "lgo": "log",
		"": "", "??": "", "bogus": "", "INT-9999999": "", strings.Repeat("verify", 1000): "",
	} {
		got := nearest.Of(name, known)
		check.That(t, got == want, "near %.20q is %q, want %q", name, got, want)
	}
}
