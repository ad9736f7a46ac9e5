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

// figures count lines by how they were answered.
type figures struct {
	answered, right, owned, lines int
	by                            map[blame.Confidence][2]int // right, all
}

func (g *figures) add(confidence blame.Confidence, got, truth string) {
	if g.by == nil {
		g.by = map[blame.Confidence][2]int{}
	}
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
	n := g.by[confidence]
	if got == truth {
		n[0]++
	}
	n[1]++
	g.by[confidence] = n
}

func (g *figures) addAll(other *figures) {
	g.answered, g.right, g.owned, g.lines = g.answered+other.answered, g.right+other.right, g.owned+other.owned, g.lines+other.lines
}

func (g *figures) precision() float64 { return float64(g.right) / float64(max(g.answered, 1)) }
func (g *figures) recall() float64    { return float64(g.right) / float64(max(g.owned, 1)) }

func (g *figures) String() string {
	s := fmt.Sprintf("precision %.4f recall %.4f (%d lines, %d of an intent)", g.precision(), g.recall(), g.lines, g.owned)
	for _, c := range []blame.Confidence{blame.Exact, blame.Shifted, blame.Reformatted, blame.Moved, blame.Untracked} {
		s += fmt.Sprintf("; %s %d/%d", c, g.by[c][0], g.by[c][1])
	}
	return s
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
		g.add(l.Confidence, got, file[i].owner)
	}
}
