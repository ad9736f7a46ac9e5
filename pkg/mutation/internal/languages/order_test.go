package languages_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// functions are the kinds of declarations that nothing happens to when they
// stand elsewhere among their kind.
var functions = map[string]bool{
	"function_declaration": true, "generator_function_declaration": true, "method_definition": true, "function_definition": true, "method_declaration": true,
	"function_item": true, "method": true, "singleton_method": true,
}

// TestOrderSweep lets declarations of real files (as TestSweep takes them)
// change places. Neighbours that are functions must mostly be proven to be the
// same, and neighbours whose order has meaning (statements, members of enums,
// fields, parameters) must never be. With ORCHESTRA_PROVEN, a directory, whatever else is proven is
// written there, each pair as NUMBER.before and NUMBER.after, for another
// program to run.
func TestOrderSweep(t *testing.T) {
	files, times := 1, 4
	if sweptDirectory() != "" {
		files, times = 60, 12
	}
	random := rand.New(rand.NewPCG(7, 8))
	for _, language := range languages.Names() {
		texts, _ := sources(t, language, files)
		neighbours, recognised, others, proven, kept, falsely := 0, 0, 0, 0, 0, 0
		for _, s := range texts {
			path, text := s.path, s.text
			parts := languages.Parts(language, []byte(text))
			inOrder := languages.Ordered(language, []byte(text))
			for range times {
				if mutant, what := misplace(random, text, inOrder); mutant != text {
					kept++
					if v := evidence(language, path, text, mutant); isProven(v) && sameProgram(t, language, s, mutant) == "" {
						falsely++
						t.Errorf("%s: %s: falsely %s: %s", shortPath(path), what, v.Evidence, v.Reason)
						keepMiss(fmt.Sprintf("order-%s-%d-%s", language, kept, filepath.Base(path)), text, mutant)
					}
				}
				if mutant, what := exchange(random, language, text, parts, true); mutant != text {
					neighbours++
					if v := evidence(language, path, text, mutant); v.Evidence == verdict.Proven {
						recognised++
						keep(t, language, path, text, mutant, what)
					} else if os.Getenv("ORCHESTRA_MISSES") != "" {
						t.Logf("missed: %s: %s", what, v.Reason)
					}
				}
				if mutant, what := exchange(random, language, text, parts, false); mutant != text {
					others++
					if v := evidence(language, path, text, mutant); v.Evidence == verdict.Proven {
						proven++
						keep(t, language, path, text, mutant, what)
					}
				}
			}
		}
		t.Logf("%s: %d files; %d of %d exchanges of neighbouring functions proven; %d of %d of any two declarations; %d of %d of what has an order", language,
			len(texts), recognised, neighbours, proven, others, falsely, kept)
		if neighbours > 20 && 2*recognised < neighbours {
			t.Errorf("%s: below the bar", language)
		}
	}
}

// exchange lets two parts of a list change places; neighbours are functions
// with only functions between.
func exchange(random *rand.Rand, language, text string, parts []languages.Part, neighbours bool) (mutant, what string) {
	if len(parts) < 2 {
		return text, ""
	}
	for range 20 {
		i := random.IntN(len(parts) - 1)
		j := i + 1 + random.IntN(min(6, len(parts)-i-1))
		a, b := parts[i], parts[j]
		fits := a.List == b.List
		for k := i; k <= j && neighbours; k++ {
			fits = fits && functions[parts[k].Kind] && parts[k].List == a.List && !strings.Contains(text[parts[k].Start:parts[k].End], "test")
			fits = fits && (!inOrder[language] || unrelated(text, parts[i], parts[k]) && unrelated(text, parts[k], parts[j]))
		}
		if fits && a.End <= b.Start && (neighbours || !functions[a.Kind] || !functions[b.Kind] || random.IntN(3) == 0) {
			what = fmt.Sprintf("%s in line %d and %s in line %d", a.Kind, 1+strings.Count(text[:a.Start], "\n"), b.Kind, 1+strings.Count(text[:b.Start], "\n"))
			return text[:a.Start] + text[b.Start:b.End] + text[a.End:b.Start] + text[a.Start:a.End] + text[b.End:], what
		}
	}
	return text, ""
}

// misplace lets two parts that have an order, and are not the same text, change
// places.
func misplace(random *rand.Rand, text string, parts []languages.Part) (mutant, what string) {
	for range 20 {
		if len(parts) < 2 {
			break
		}
		i := random.IntN(len(parts) - 1)
		a, b := parts[i], parts[i+1]
		if a.List == b.List && a.Kind == b.Kind && a.End <= b.Start && text[a.Start:a.End] != text[b.Start:b.End] {
			m := swapped(text, a.Start, a.End, b.Start, b.End)
			return m.text, fmt.Sprintf("%s in line %d: %.80s", a.Kind, 1+strings.Count(text[:a.Start], "\n"), m.what)
		}
	}
	return text, ""
}

// inOrder are languages in which a name is only known below its declaration.
var inOrder = map[string]bool{"c": true, "cpp": true}

// unrelated tells whether neither of two functions has the other's name.
func unrelated(text string, a, b languages.Part) bool {
	if a == b {
		return true
	}
	one, two := text[a.Start:a.End], text[b.Start:b.End]
	return occurrences(two, head(one)) == 0 && occurrences(one, head(two)) == 0
}

// head is the word in front of the first bracket.
func head(text string) string {
	words := strings.FieldsFunc(strings.SplitN(text, "(", 2)[0], func(r rune) bool { return !(r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') })
	if len(words) == 0 {
		return "("
	}
	return words[len(words)-1]
}

var kept int

// keep writes a pair that was proven, for a judge that is not this package.
func keep(t *testing.T, language, path, before, after, what string) {
	dir := os.Getenv("ORCHESTRA_PROVEN")
	if dir == "" {
		return
	}
	kept++
	for side, text := range map[string]string{"before": before, "after": after, "path": path, "what": what} {
		name := filepath.Join(dir, fmt.Sprintf("%s-%05d.%s", language, kept, side))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
