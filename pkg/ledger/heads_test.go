package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// randomLines is a graph in which each line follows one or a few of those before it, and its heads.
func randomLines(r *rand.Rand, n int) (lines, heads []string) {
	var ids []string
	followed := map[string]bool{}
	for i := range n {
		var prev []string
		for range min(i, 1+r.IntN(10)/8) {
			p := ids[len(ids)-1-r.IntN(min(len(ids), 1+r.IntN(4)*r.IntN(4)))]
			if !slices.Contains(prev, p) {
				prev = append(prev, p)
				followed[p] = true
			}
		}
		slices.Sort(prev)
		line := fmt.Sprintf(`{"prev":[%s],"n":%d}`, quoted(prev), i)
		sum := sha256.Sum256([]byte(line))
		ids, lines = append(ids, hex.EncodeToString(sum[:])), append(lines, line)
	}
	heads = slices.DeleteFunc(ids, func(id string) bool { return followed[id] })
	slices.Sort(heads)
	return lines, heads
}

func quoted(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return `"` + strings.Join(ids, `","`) + `"`
}

// TestHeadsDoNotDependOnTheOrderOfLines also repeats some lines and puts garbage between them.
func TestHeadsDoNotDependOnTheOrderOfLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		lines, want := randomLines(r, 1+r.IntN(60))
		switch round % 3 {
		case 1:
			slices.Reverse(lines)
		case 2:
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		}
		for range r.IntN(10) {
			lines = slices.Insert(lines, r.IntN(len(lines)), lines[r.IntN(len(lines))])
		}
		lines = slices.Insert(lines, r.IntN(len(lines)), "<<<<<<< ours", "")
		heads, err := ledger.FindHeads([]byte(strings.Join(lines, "\n") + "\n"))
		if err != nil || !slices.Equal(heads, want) {
			t.Fatalf("round %d: heads %v, %v, want %v", round, heads, err, want)
		}
	}
}

// TestAChainIsNotHeldForItsHeads bounds the memory of a first append, however long the file is.
func TestAChainIsNotHeldForItsHeads(t *testing.T) {
	var lines strings.Builder
	prev := ""
	for i := range 20_000 {
		line := fmt.Sprintf(`{"prev":[%s],"n":%d}`, prev, i)
		sum := sha256.Sum256([]byte(line))
		prev = `"` + hex.EncodeToString(sum[:]) + `"`
		lines.WriteString(line + "\n")
	}
	if most, err := ledger.HeldForHeads([]byte(lines.String())); err != nil || most > 2 {
		t.Errorf("%d lines were held at once; %v", most, err)
	}
}
