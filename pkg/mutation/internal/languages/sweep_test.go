package languages_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestSweep changes single tokens of real programs. No mutant may be proven,
// but for those that are the same program, told by other programs
// (equivalent_test.go) or by a person (evidence/equivalent.txt).
func TestSweep(t *testing.T) {
	files, perFile := 1, 15
	switch {
	case sweptDirectory() != "" && os.Getenv("ORCHESTRA_LONG") == "1":
		files, perFile = 40, 12
	case sweptDirectory() != "":
		files, perFile = 40, 5
	case testing.Short():
		perFile = 4
	}
	known := readEquivalents(t)
	for _, language := range languages.Names() {
		texts, refused := sources(t, language, files)
		if len(texts) == 0 && refused == 0 {
			if sweptDirectory() == "" {
				t.Errorf("there is no sample of %s", language)
			}
			continue
		}
		c := counts{}
		for i, s := range texts {
			c.mutations(t, seeded(uint64(100+i)), language, s, perFile, known)
		}
		t.Logf("%s: %d files (%d are not understood); mutants %d, understood %d, false %d, same %v", language, len(texts), refused, c.mutants, c.understood, c.falsely, c.same)
		if c.mutants == 0 {
			t.Errorf("%s: there are no mutants", language)
		}
	}
}

type counts struct {
	mutants, understood, falsely, renames, renamesProven, layouts, layoutsProven int
	same                                                                         map[string]int
}

func evidence(language, path, before, after string) verdict.Verdict {
	return languages.Judge(language)(context.Background(), []verdict.File{{Path: path, Before: []byte(before), After: []byte(after)}}, limits())
}

func isProven(v verdict.Verdict) bool {
	return v.Evidence == verdict.Proven || v.Evidence == verdict.ProvenLocal
}

// mutations makes so many mutants that the parser understands, if it can.
func (c *counts) mutations(t *testing.T, random *rand.Rand, language string, s source, times int, known map[string]string) {
	tokens := languages.Tokens(language, []byte(s.text))
	if len(tokens) < 10 {
		return
	}
	understood := c.understood + times
	for range 4 * times {
		if c.understood == understood {
			return
		}
		m := mutate(random, s.text, tokens)
		if m.text == "" {
			continue
		}
		c.mutants++
		v := evidence(language, s.path, s.text, m.text)
		if !strings.Contains(v.Reason, "the parser does not understand") && !strings.Contains(v.Reason, "was stopped") {
			c.understood++
		}
		if !isProven(v) {
			continue
		}
		why := equivalent(t, language, s, m, v, known)
		if why == "" {
			c.falsely++
			t.Errorf("%s: %s: falsely %s: %s", shortPath(s.path), m.what, v.Evidence, v.Reason)
			keepMiss(fmt.Sprintf("false-%s-%d-%s", language, c.mutants, filepath.Base(s.path)), s.text, m.text)
			continue
		}
		if c.same == nil {
			c.same = map[string]int{}
		}
		c.same[why]++
	}
}
