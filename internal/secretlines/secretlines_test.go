package secretlines_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/secretlines"
)

func TestLines(t *testing.T) {
	for line, want := range map[string][2]string{ // as a variable, as a header
		"A=b":                {"A=b", ""},
		"A_1= b=c ":          {"A_1= b=c ", ""},
		"1A=b":               {"", ""},
		"A-B=c":              {"", ""},
		"=b":                 {"", ""},
		"A":                  {"", ""},
		"A=b\x00":            {"", ""},
		"A=b\nC=d":           {"", ""},
		"x-key:  a b ":       {"", "X-Key=a b"},
		"Authorization: B t": {"", "Authorization=B t"},
		"host: x":            {"", ""},
		"MCP-SESSION-ID: x":  {"", ""},
		"a b: c":             {"", ""},
		"a: b\r":             {"", "A=b"},
		"a: b\x01c":          {"", ""},
	} {
		got := func(name, value string, ok bool) string {
			if !ok {
				return ""
			}
			return name + "=" + value
		}
		check.Equal(t, got(secretlines.Variable(line)), want[0], line)
		check.Equal(t, got(secretlines.Header(line)), want[1], line)
	}
	check.That(t, secretlines.Says("A=b") && !secretlines.Says("") && !secretlines.Says("# A=b"), "which lines say something")
}
