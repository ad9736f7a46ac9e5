package blame_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
)

// simLine is a line with its truth: the intent that wrote it, or nothing for a line from outside.
type simLine struct {
	text, owner string
	id          int // of its own; it stays when the line is moved or reformatted
}

type simFile []simLine

func (f simFile) String() string {
	var b strings.Builder
	for _, l := range f {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

var intents = []string{"INT-001", "INT-002", "INT-003", "INT-004"}

func sum256(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func blobID(s string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(s), s)))
}

const (
	wantPrecision = 0.98
	wantRecall    = 0.95
)

// figures count lines, and those that were answered.
type figures struct {
	answered, right, owned, lines int
}

func (g *figures) add(got, truth string) {
	g.lines++
	if truth != "" {
		g.owned++
	}
	if got != "" {
		g.answered++
		if got == truth {
			g.right++
		}
	}
}

func (g *figures) addAll(other *figures) {
	g.answered, g.right, g.owned, g.lines = g.answered+other.answered, g.right+other.right, g.owned+other.owned, g.lines+other.lines
}

func (g *figures) precision() float64 { return float64(g.right) / float64(max(g.answered, 1)) }
func (g *figures) recall() float64    { return float64(g.right) / float64(max(g.owned, 1)) }

func (g *figures) String() string {
	return fmt.Sprintf("precision %.4f recall %.4f (%d lines, %d of an intent)", g.precision(), g.recall(), g.lines, g.owned)
}

func (g *figures) addLines(t testing.TB, lines []blame.Line, file simFile) {
	t.Helper()
	check.Must(t, len(lines) == len(file), "%d lines answered, the file has %d", len(lines), len(file))
	for i, l := range lines {
		got := ""
		if l.Record != nil {
			got = l.Record.IntentID
		}
		if (got == "") != (l.Confidence == blame.Untracked) {
			t.Fatalf("line %d has confidence %s and intent %q", l.Number, l.Confidence, got)
		}
		g.add(got, file[i].owner)
	}
}
