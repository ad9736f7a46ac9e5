package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func TestClaims(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	var hashes []string
	for i := range 6 {
		hashes = append(hashes, appendOne(t, l, record.Record{Kind: record.KindRead, Call: fmt.Sprint(i)}).Hash)
	}
	unknown := strings.Repeat("0", 64)
	for _, c := range []struct {
		name   string
		claims []verify.Claim
		holds  []bool
		sealed int
	}{
		{"none", nil, nil, 0},
		{"all", []verify.Claim{{Heads: hashes[5:], Lines: 6, Trusted: true}}, []bool{true}, 6},
		{"a part", []verify.Claim{{Heads: hashes[2:3], Lines: 3, Trusted: true}}, []bool{true}, 3},
		{"growing", []verify.Claim{{Heads: hashes[3:4], Lines: 4, Trusted: true}, {Heads: hashes[1:2], Lines: 2, Trusted: true}}, []bool{true, true}, 4},
		{"not trusted", []verify.Claim{{Heads: hashes[5:], Lines: 6}}, []bool{true}, 0},
		{"only the smaller one trusted", []verify.Claim{{Heads: hashes[5:], Lines: 6}, {Heads: hashes[:1], Lines: 1, Trusted: true}}, []bool{true, true}, 1},
		{"an unknown head", []verify.Claim{{Heads: []string{unknown, hashes[5]}, Lines: 6, Trusted: true}}, []bool{false}, 0},
		{"no hash", []verify.Claim{{Heads: []string{hashes[5] + hashes[5]}, Lines: 1, Trusted: true}}, []bool{false}, 0},
		{"more lines than there are", []verify.Claim{{Heads: hashes[5:], Lines: 7, Trusted: true}}, []bool{false}, 0},
	} {
		report, standings, err := verify.VerifyClaims(context.Background(), w.root, c.claims, nil)
		check.OK(t, err)
		var holds []bool
		broken := 0
		for i, s := range standings {
			holds = append(holds, s.Holds(c.claims[i]))
			if !holds[i] {
				broken++
			}
		}
		if !slices.Equal(holds, c.holds) || report.Sealed != c.sealed || report.Sealed+report.Unsealed != 6 || len(report.Problems) != broken {
			t.Errorf("%s: hold %v, want %v; %d sealed, want %d; problems %v", c.name, holds, c.holds, report.Sealed, c.sealed, report.Problems)
		}
	}
}

func TestHashLines(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	at := appendOne(t, l, mutation("INT-001", "a"))
	foreign := `{"id":"x"}`
	text := "<<<<<<< HEAD\r\n" + strings.TrimSuffix(w.read(tracePath), "\n") + "\r\n\n" + foreign + "\n" + foreign[:5]
	var numbers []int
	check.OK(t, segment.HashLines(strings.NewReader(text), func(line ledger.HashedLine) error {
		numbers = append(numbers, line.Number)
		if line.Number == 2 && line.Hash.String() != at.Hash {
			t.Errorf("line 2 is %s, want %s", line.Hash, at.Hash)
		}
		return nil
	}))
	if !slices.Equal(numbers, []int{2, 4}) {
		t.Errorf("lines %v, want 2 and 4", numbers)
	}
}

func FuzzParseHash(f *testing.F) {
	digits := strings.Repeat("0123456789abcdef", 4)
	for _, seed := range []string{digits, digits[1:], digits + "0", strings.ToUpper(digits), "", `"`, strings.Repeat("g", 64)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := record.ParseHash(text); err == nil && h.String() != text {
			t.Errorf("%q is written as %q", text, h)
		}
	})
}
