package approval_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

const hostile = "a\x1b[2J\x1b]0;x\x07\u202egnp.\u2066\u200b\u00ad\u0085\r\nexpires: never\nclient: you\ttab\x00\u2028"

// Whatever an agent writes, a person sees its characters, on the lines that are ours.
func TestViewCannotBeForged(t *testing.T) {
	r := approval.Request{
		Tool: hostile, Client: hostile, IntentID: "INT-001", IntentName: hostile, Reason: hostile, Name: hostile,
		Paths:   []string{hostile},
		Checks:  []approval.Check{{Hook: "scope", ErrorType: "SCOPE_VIOLATION", Reason: hostile, Paths: []string{hostile}}},
		Effects: []approval.Effect{{Kind: "modify", Path: hostile, To: hostile}, {Kind: "command", Line: hostile, Cwd: hostile, Shell: hostile}},
		Diffs:   []approval.FileDiff{{Path: hostile, Note: hostile, Hunks: "@@ -1 +1 @@\n-" + strings.ReplaceAll(hostile, "\n", "\n+") + "\n", Size: 9999, Lines: 77}},
	}
	v := approval.ViewOf(r)
	texts := []string{v.Title, v.DiffCut}
	for _, row := range v.Rows {
		texts = append(texts, row.Label, row.Text)
	}
	for _, line := range v.Diff {
		texts = append(texts, line.Text)
	}
	for _, a := range v.Answers {
		texts = append(texts, a.Title, a.Means)
	}
	for _, text := range texts {
		for _, c := range text {
			check.That(t, unicode.IsPrint(c), "%q has %U", text, c)
		}
	}
	message := v.Message(1 << 20)
	for line := range strings.Lines(message) {
		check.That(t, !strings.HasPrefix(line, "expires: never") && !strings.HasPrefix(line, "client: you"), "a line was forged: %s", line)
	}
	if !strings.Contains(message, `\u202e`) || !strings.Contains(message, `\x1b`) || !strings.Contains(v.DiffCut, "9999 bytes in all") {
		t.Errorf("%s", message)
	}
}

// A line of a file that looks like the header of a diff does not become one.
func TestDiffHeadersAreOurs(t *testing.T) {
	v := approval.ViewOf(approval.Request{Diffs: []approval.FileDiff{{Path: "a", Hunks: "@@ -1 +1 @@\n--- harmless\n+++ harmless\n+=== harmless\n"}}})
	headers := 0
	for _, line := range v.Diff {
		if line.Kind == 'f' {
			headers++
		}
	}
	check.That(t, headers == 1 && v.Diff[0].Text == "=== a", "%+v", v.Diff)
}

func TestLongTextsAreCutInTheMiddleAndSaySo(t *testing.T) {
	line := "echo " + strings.Repeat("x", 5000) + "; rm -rf /"
	v := approval.ViewOf(approval.Request{Tool: "execute_command", Effects: []approval.Effect{{Kind: "command", Line: line}}})
	for _, text := range []string{v.Title, v.Rows[0].Text} {
		check.That(t, strings.Contains(text, "characters not shown") && strings.HasSuffix(text, "rm -rf /") && len(text) <= 1500, "%s", text)
	}
	long := approval.ViewOf(approval.Request{Diffs: []approval.FileDiff{{Path: "a", Hunks: strings.Repeat("+line\n", 1000), Size: 6000, Lines: 1000}}})
	message := long.Message(500)
	if len(message) > 800 || !strings.Contains(message, "of 1001 lines of the diff are not shown here") {
		t.Errorf("%d bytes: %s", len(message), message)
	}
}

func TestViewSaysWhatEachAnswerAllows(t *testing.T) {
	v := approval.ViewOf(outOfScope("docs/a b.md"))
	check.That(t, len(v.Answers) == 3 && strings.Contains(v.Answers[1].Means, `SCOPE_VIOLATION at "docs/a b.md"`), "%+v", v.Answers)
	once := outOfScope("a")
	once.Once = true
	if v := approval.ViewOf(once); len(v.Answers) != 2 {
		t.Errorf("%+v", v.Answers)
	}
}
