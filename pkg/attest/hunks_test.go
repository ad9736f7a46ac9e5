package attest_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// TestHunksApply: those of two texts lead from one to the other, and none that are cut short do.
func TestHunksApply(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 15))
	text := func() string {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString([]string{"a", "b", "c", ""}[random.IntN(4)] + []string{"\n", "\r\n"}[random.IntN(2)])
		}
		return b.String() + []string{"", "end"}[random.IntN(2)]
	}
	for range 2000 {
		before, after := text(), text()
		hunks := edit.Hunks(before, after)
		if !attest.Applies(hunks, edit.RawLines(before), edit.RawLines(after)) {
			t.Fatalf("%v do not lead from %q to %q", hunks, before, after)
		}
		if len(hunks) > 0 && attest.Applies(hunks[1:], edit.RawLines(before), edit.RawLines(after)) {
			t.Fatalf("without the first, %v lead from %q to %q", hunks, before, after)
		}
	}
}

// TestHostileHunks are refused, and nothing panics.
func TestHostileHunks(t *testing.T) {
	t.Parallel()
	lines := []string{"a\n", "b\n"}
	for _, hunks := range [][][4]int{
		{{0, 1, 0, 1}}, {{-1, 1, 1, 1}}, {{1, -1, 1, 1}}, {{1, 1, 1, -1}}, {{3, 1, 1, 1}}, {{1, 1, 3, 1}}, {{1, 1 << 62, 1, 1}}, {{1, 1, 1, 1 << 62}},
		{{2, 1, 2, 1}, {1, 1, 1, 1}}, {{1 << 62, 1 << 62, 1 << 62, 1 << 62}}, {{1<<63 - 1, 1<<63 - 1, 0, 0}},
	} {
		check.That(t, !attest.Applies(hunks, lines, []string{"a\n", "c\n"}), "%v apply", hunks)
	}
}
