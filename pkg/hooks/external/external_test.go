package external_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
)

func TestStretchNamesOnePlace(t *testing.T) {
	for name, c := range map[string]struct{ before, after, old, replacement string }{
		"one line":       {"a\nb\nc\n", "a\nB\nc\n", "b\n", "B\n"},
		"insertion":      {"a\nb\n", "a\nx\nb\n", "a\nb\n", "a\nx\nb\n"},
		"twice the same": {"x\na\nx\nb\nx\n", "x\na\nX\nb\nx\n", "a\nx\nb\n", "a\nX\nb\n"},
		"into nothing":   {"", "a\n", "", "a\n"},
		"two places":     {"1\n2\n3\n4\n", "1\nX\n3\nY\n", "2\n3\n4\n", "X\n3\nY\n"},
		"no line end":    {"a\nb", "a\nc", "b", "c"},
	} {
		if old, replacement := external.Stretch(c.before, c.after); old != c.old || replacement != c.replacement {
			t.Errorf("%s: %q → %q", name, old, replacement)
		}
	}
}

// A program that does what the event says gets what will be written.
func FuzzStretch(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n")
	f.Add("x\nx\nx\nx", "x\nx\nx")
	f.Add("", "x")
	f.Add("x\r\ny\n", "y\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		old, replacement := external.Stretch(before, after)
		if before == "" && old == "" {
			check.Must(t, replacement == after, "%q", replacement)
			return
		}
		if before == after {
			return
		}
		if strings.Count(before, old) != 1 || strings.Replace(before, old, replacement, 1) != after {
			t.Fatalf("%q by %q in %q does not make %q", old, replacement, before, after)
		}
	})
}

// Whatever a program prints, it does not crash the server, and its text acts on no terminal. What begins with { allows
// only as an object that can be read.
func FuzzInterpret(f *testing.F) {
	f.Add(`{"decision":"approve"}`, "", 0)
	f.Add(`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"\u001b[2J\u202e"}}`, "", 0)
	f.Add("  {", "x", 0)
	f.Add(`{"continue":false}`, "", 0)
	f.Add("text \x1b[1m", "\x07", 2)
	f.Fuzz(func(t *testing.T, out, errors string, code int) {
		verdict, reason, notes, err := external.Interpreted(command.Result{Output: out, Errors: errors, ExitCode: code})
		if err == nil && verdict == "allow" {
			trimmed := strings.TrimSpace(out)
			if code != 0 || strings.HasPrefix(trimmed, "{") && !json.Valid([]byte(trimmed)) {
				t.Fatalf("allowed by %q with exit code %d", out, code)
			}
		}
		for _, text := range append(notes, reason) {
			if utf8.RuneCountInString(text) > 2_000 || strings.ContainsFunc(text, func(r rune) bool {
				return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			}) {
				t.Fatalf("says %q", text)
			}
		}
	})
}

func TestMatcher(t *testing.T) {
	for pattern, names := range map[string]map[string]bool{
		"Write":      {"Write": true, "write": false, "MultiWrite": false},
		"Edit|Write": {"Edit": true, "Write": true, "Editor": false},
		"*":          {"anything": true},
		"mcp__.*":    {"mcp__orchestra__x": true, "Bash": false},
	} {
		matcher := check.Value(external.Matcher(pattern))(t)
		for name, want := range names {
			check.That(t, matcher.MatchString(name) == want, "%q on %q", pattern, name)
		}
	}
	_, err := external.Matcher("(")
	check.That(t, err != nil, "a pattern that does not compile was taken")
}
