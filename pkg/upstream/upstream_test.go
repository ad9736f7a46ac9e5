package upstream_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// The last pattern that matches decides; without patterns all tools are offered and none is safe.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		patterns      string
		offered, safe string // of read_a read_b write_a
	}{
		{"", "read_a read_b write_a", ""},
		{"*", "read_a read_b write_a", "read_a read_b write_a"},
		{"read_*", "read_a read_b", "read_a read_b"},
		{"!read_*", "write_a", ""},
		{"!read_* read_b", "read_b write_a", "read_b"},
		{"* !read_* read_b", "read_b write_a", "read_b write_a"},
		{"read_* !read_b", "read_a", "read_a"},
		{"read_? !*", "", ""},
		{"[", "", ""},
		{"READ_A", "", ""},
	} {
		d := upstream.Definition{Choose: strings.Fields(c.patterns), Safe: strings.Fields(c.patterns)}
		var offered, safe []string
		for _, tool := range []string{"read_a", "read_b", "write_a"} {
			if d.Offers(tool) {
				offered = append(offered, tool)
			}
			if d.IsSafe(tool) {
				safe = append(safe, tool)
			}
		}
		check.That(t, strings.Join(offered, " ") == c.offered && strings.Join(safe, " ") == c.safe, "%q: offered %v, safe %v", c.patterns, offered, safe)
	}
	for pattern, fine := range map[string]bool{"*": true, "!a": true, "a[bc]?": true, "": false, "!": false, "[": false, "a[": false, strings.Repeat("a", 300): false} {
		check.That(t, (upstream.CheckPattern(pattern) == nil) == fine, "%q", pattern)
	}
	check.That(t, upstream.Definition{URL: "https://h"}.HTTP() && !upstream.Definition{}.HTTP(), "what is reached by an address")
}
