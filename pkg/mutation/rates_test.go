package mutation_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// long runs whole sweeps instead of samples.
func long() bool { return os.Getenv("ORCHESTRA_LONG") != "" }

// rate counts what was recognised.
type rate struct{ recognised, all int }

func (r *rate) add(recognised bool) {
	r.all++
	if recognised {
		r.recognised++
	}
}

func (r rate) String() string {
	if r.all == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", r.recognised, r.all, 100*float64(r.recognised)/float64(r.all))
}

func (r rate) atLeast(percent float64) bool {
	return r.all > 0 && 100*float64(r.recognised) >= percent*float64(r.all)
}

// goPackages are from Go's tree: small enough to be checked quickly, and
// different in style.
func goPackages() []string {
	few := []string{"container/list", "path", "text/tabwriter", "encoding/csv"}
	switch {
	case testing.Short():
		return few[:2]
	case !long():
		return few
	}
	return append(few, "net/url", "sort", "strings", "bufio", "text/template/parse", "go/scanner", "encoding/json", "regexp/syntax",
		"compress/flate", "archive/tar", "container/ring", "encoding/xml", "go/printer", "html", "mime", "go/constant", "math/big", "image/png", "slices", "maps", "sync")
}

func judgeOne(t testing.TB, name string, before, after []byte) mutation.Verdict {
	return mutation.JudgeWithin(t.Context(), []mutation.File{{Path: name, Before: before, After: after}}, patient())
}

// patient limits do not depend on how busy the machine is.
func patient() mutation.Limits {
	limits := mutation.DefaultLimits()
	limits.Time = 10 * time.Minute
	return limits
}

func isRefactor(v mutation.Verdict) bool {
	return v.Evidence == mutation.Proven || v.Evidence == mutation.ProvenLocal
}

// goSweep is the mutation test of one package.
type goSweep struct {
	t       *testing.T
	r       *rand.Rand
	p       *program
	c       *checked
	mutants int
	falsely int
	unused  int
	rates   map[string]*rate
	misses  map[string]int
}

func TestRatesGo(t *testing.T) {
	total := &goSweep{rates: map[string]*rate{}, misses: map[string]int{}}
	start := time.Now()
	for _, importPath := range goPackages() {
		p := loadProgram(t, importPath)
		c, err := p.check(nil)
		if err != nil || len(c.errs) > 0 {
			t.Logf("%s is left out: %v %v", importPath, err, c.errs)
			continue
		}
		s := &goSweep{t: t, r: rand.New(rand.NewPCG(seed(), 2)), p: p, c: c, rates: total.rates, misses: total.misses}
		for _, name := range p.names {
			s.file(name)
		}
		total.mutants, total.falsely, total.unused = total.mutants+s.mutants, total.falsely+s.falsely, total.unused+s.unused
	}
	t.Logf("go: %d mutations, %d falsely proven, %d renames that the type checker takes for the same, %.1f s", total.mutants, total.falsely, total.unused, time.Since(start).Seconds())
	for _, kind := range slices.Sorted(mapsKeys(total.rates)) {
		t.Logf("go: %s: %s", kind, total.rates[kind])
	}
	for _, miss := range slices.Sorted(mapsKeys(total.misses)) {
		t.Logf("go: not recognised %d times: %s", total.misses[miss], miss)
	}
	for kind, bar := range map[string]float64{string(renameAny): 90, "reformat": 95, string(renameLocals): 90, string(renameGlobals): 90, "reorder": 95} {
		if r := total.rates[kind]; r == nil || !r.atLeast(bar) {
			t.Errorf("%s: %v, the bar is %v %%", kind, r, bar)
		}
	}
	if long() && total.mutants < 5000 {
		t.Errorf("only %d mutations", total.mutants)
	}
}

// seed is 1, or what ORCHESTRA_SEED makes of it.
func seed() uint64 {
	sum := uint64(1)
	for _, c := range os.Getenv("ORCHESTRA_SEED") {
		sum = 31*sum + uint64(c)
	}
	return sum
}

func (s *goSweep) file(name string) {
	content := s.p.contents[name]
	tokens := lexemes(content)
	if v := judgeOne(s.t, name, content, append(slices.Clone(content), '\n')); v.Evidence != mutation.Proven {
		s.t.Errorf("%s/%s does not equal itself: %s", s.p.path, name, v.Reason)
		return
	}
	mutants, captures, rounds := 25, 25, 2
	if long() {
		mutants, captures, rounds = 100, 60, 4
	}
	for range mutants {
		after, what := mutate(s.r, content, tokens)
		s.mutant(name, content, after, what)
	}
	for range captures {
		after, what := capture(s.r, content, tokens)
		s.mutant(name, content, after, what)
	}
	for range rounds {
		for _, kind := range []renameKind{renameLocals, renameGlobals, renameMembers} {
			s.refactor(name, string(kind), content, rename(s.r, s.c, name, content, kind))
		}
		for _, kind := range []renameKind{renameEverywhere, renameAny} {
			files := renameInAll(s.r, s.c, s.p, name, kind)
			s.refactors(name, string(kind), files, nil)
			s.refactors(name, string(kind)+", among the others", files, s.p.others(s.t))
		}
		if !hasDirectives(content) {
			s.refactor(name, "reformat", content, reformat(s.r, content, tokens))
			s.refactor(name, "reorder", content, reorder(s.r, s.c, name, content))
		}
	}
}

func hasDirectives(content []byte) bool {
	return bytes.Contains(content, []byte("//go:")) || bytes.Contains(content, []byte("Code generated")) || bytes.Contains(content, []byte("//line"))
}

// mutant judges a change that keeps the meaning only by accident; then the
// type checker or the printer must say so too.
func (s *goSweep) mutant(name string, before, after []byte, what string) {
	if bytes.Equal(before, after) {
		return
	}
	b, _ := printed(before)
	a, parses := printed(after)
	if parses && a == b {
		return // the same program in another layout
	}
	s.mutants++
	v := s.p.judge(s.t, name, before, after)
	if !isRefactor(v) {
		return
	}
	if err := s.p.sameMeaning(name, after, v.Evidence == mutation.ProvenLocal); err != nil {
		if readAsSame[s.p.path+"/"+name+": "+what] != "" {
			s.unused++
			return
		}
		s.falsely++
		s.t.Errorf("%s/%s: %s is %s (%s), but %v", s.p.path, name, what, v.Evidence, v.Reason, err)
		return
	}
	s.unused++
}

// readAsSame are mutants that a person found to be the same program where the
// type checker cannot tell, with the reason.
var readAsSame = map[string]string{
	"math/big/int.go: Int to neg in tokens 0 to 6523": "a type; other files have variables called neg, so the name cannot be put there to check it, and no neg of this file is seen where the type is",
}

func (s *goSweep) refactor(name, kind string, before, after []byte) {
	if after != nil && !bytes.Equal(before, after) {
		s.refactors(name, kind, []mutation.File{{Path: name, Before: before, After: after}}, nil)
	}
}

func (s *goSweep) refactors(name, kind string, files []mutation.File, around mutation.Surroundings) {
	if len(files) == 0 {
		return
	}
	if s.rates[kind] == nil {
		s.rates[kind] = &rate{}
	}
	v := mutation.JudgeAmong(s.t.Context(), files, around, patient())
	s.rates[kind].add(isRefactor(v))
	if !isRefactor(v) {
		s.misses[kind+": "+general(v.Reason)]++
		if long() {
			s.t.Logf("%s/%s: %s: %s", s.p.path, name, kind, v.Reason)
		}
	}
}

// general is a reason without names and places.
func general(reason string) string {
	_, reason, _ = strings.Cut(reason, ": ")
	parts := strings.Split(reason, `"`)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "…"
	}
	return path.Clean(strings.Join(parts, `"`))
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
