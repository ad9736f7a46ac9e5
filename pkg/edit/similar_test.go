package edit_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// classic is the edit distance by the full table.
func classic(a, b string) int {
	left, right := []rune(a), []rune(b)
	row := make([]int, len(right)+1)
	for j := range row {
		row[j] = j
	}
	for i, l := range left {
		diagonal := row[0]
		row[0] = i + 1
		for j, r := range right {
			cost := diagonal
			if l != r {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(right)]
}

func randomText(r *rand.Rand, length int) string {
	var b strings.Builder
	for range length {
		b.WriteRune([]rune("ab c\tü“漢")[r.IntN(8)])
	}
	return b.String()
}

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		a, b := randomText(r, r.IntN(200)), randomText(r, r.IntN(200))
		got, want := edit.Distance(a, b), classic(a, b)
		check.Must(t, got == want, "distance of %q and %q is %d, want %d", a, b, got, want)
	}
}

// A window whose bound were below its score could be left out though it fits.
func TestBoundIsAboveScore(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 2000 {
		height := 1 + r.IntN(4)
		text, search := make([]string, height), make([]string, height)
		for i := range height {
			text[i], search[i] = randomText(r, r.IntN(12)), randomText(r, r.IntN(12))
			if r.IntN(2) == 0 {
				search[i] = text[i]
			}
		}
		score, bound := edit.Similarity(text, search)
		check.Must(t, score <= bound, "%q against %q scores %v, bound %v", search, text, score, bound)
	}
}
