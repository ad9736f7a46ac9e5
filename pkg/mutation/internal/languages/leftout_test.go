package languages_test

import (
	"math/rand/v2"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// TestLeftOut renames a word wherever a program has it, without asking the
// resolver under test what it means. Where that is the renaming of one thing,
// one that leaves out a place must not be proven.
func TestLeftOut(t *testing.T) {
	files, words := 1, 8
	if sweptDirectory() != "" {
		files, words = 40, 15
	}
	for _, language := range languages.Names() {
		texts, _ := sources(t, language, files)
		whole, broken := 0, 0
		for i, s := range texts {
			random := seeded(uint64(4000 + i))
			for range words {
				w, b := leaveOut(t, random, language, s)
				whole, broken = whole+w, broken+b
			}
		}
		if len(texts) > 0 {
			t.Logf("%s: %d whole renamings, %d broken ones", language, whole, broken)
		}
	}
}

func leaveOut(t *testing.T, random *rand.Rand, language string, s source) (whole, broken int) {
	tokens := languages.Tokens(language, []byte(s.text))
	chosen := tokens[random.IntN(len(tokens))]
	if !chosen.Named || chosen.Comment {
		return 0, 0
	}
	old := s.text[chosen.Start:chosen.End]
	var places []languages.Token
	for _, token := range tokens {
		if token.Named && !token.Comment && s.text[token.Start:token.End] == old {
			places = append(places, token)
		}
	}
	full := spelled(s.text, "whole", old, old+"Zq", places)
	if v := evidence(language, s.path, s.text, full.text); len(places) < 2 || !isProven(v) || len(v.Renames) != 1 {
		return 0, 0
	}
	left := random.IntN(len(places))
	some := append(places[:left:left], places[left+1:]...)
	if v := evidence(language, s.path, s.text, spelled(s.text, "left out", old, old+"Zq", some).text); isProven(v) {
		t.Errorf("%s: %q without the place%s: falsely %s: %v", shortPath(s.path), old, where(s.text, places[left]), v.Evidence, v.Renames)
	}
	return 1, 1
}
