package treesitter_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func TestNothingIsLoadedBeforeTheFirstText(t *testing.T) {
	var parsers treesitter.Parsers
	check.That(t, parsers.Loaded() == 0, "modules are loaded before a text was parsed")
	parsers.Release() // of nothing
	for range 2 {
		_, err := parsers.Parse(context.Background(), "java", []byte("class A {}"))
		check.OK(t, err)
		if parsers.Loaded() != 1 {
			t.Errorf("%d modules are loaded for one language", parsers.Loaded())
		}
		parsers.Release()
		check.That(t, parsers.Loaded() == 0, "modules stay loaded after the release")
	}
}

func TestTextsThatCannotBeParsed(t *testing.T) {
	var parsers treesitter.Parsers
	defer parsers.Release()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	// Enough work that a parser sees the end of its time.
	long := []byte(strings.Repeat("a = [b(c) for c in d if e]\n", 60000))
	soon, cancelSoon := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancelSoon()
	for name, c := range map[string]struct {
		ctx      context.Context
		language string
		text     []byte
		want     error
	}{
		"a language without a grammar": {context.Background(), "cobol", []byte("STOP RUN."), treesitter.ErrLanguage},
		"a text of the limit":          {context.Background(), "java", make([]byte, treesitter.MaxText), treesitter.ErrTooLarge},
		"a context that ended":         {ended, "java", []byte("class A {}"), treesitter.ErrTime},
		"a context that ends":          {soon, "python", long, treesitter.ErrTime},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := parsers.Parse(c.ctx, c.language, c.text)
			if !errors.Is(err, c.want) {
				t.Errorf("after %s: %v, want %v", time.Since(begin), err, c.want)
			}
		})
	}
	// A parser that was stopped does not hinder the next.
	if _, err := parsers.Parse(context.Background(), "python", []byte("a = 1\n")); err != nil {
		t.Error(err)
	}
}

// TestHostileTexts: whatever the text, there is a tree or an error of the package in bounded time, and the next text is
// parsed. ORCHESTRA_LONG=1 takes texts of ten times the size in all languages.
func TestHostileTexts(t *testing.T) {
	scale, languages := 1, []string{"python"}
	if os.Getenv("ORCHESTRA_LONG") == "1" {
		scale, languages = 10, treesitter.Languages()
	}
	var parsers treesitter.Parsers
	defer parsers.Release()
	for _, language := range languages {
		for name, text := range hostile(scale) {
			begin := time.Now()
			tree, err := parsers.Parse(context.Background(), language, text)
			known := errors.Is(err, treesitter.ErrTime) || errors.Is(err, treesitter.ErrFault)
			check.That(t, err == nil || known, "%s, %s: %v", language, name, err)
			check.That(t, err != nil || int(tree.Nodes[0].Next) == len(tree.Nodes), "%s, %s: not a tree", language, name)
			t.Logf("%s, %s: %s, %v", language, name, time.Since(begin), err)
		}
		if _, err := parsers.Parse(context.Background(), language, []byte("a = 1\n")); err != nil {
			t.Errorf("%s, after hostile texts: %v", language, err)
		}
	}
}

func hostile(scale int) map[string][]byte {
	random := make([]byte, scale*10_000)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	repeat := func(text string, times int) []byte { return bytes.Repeat([]byte(text), scale*times) }
	return map[string][]byte{
		"nothing":    nil,
		"binary":     random,
		"zero bytes": make([]byte, scale*10_000),
		"bad UTF-8":  repeat("a\xff\xfe\xc0 ", 1_000),
		"brackets":   repeat("(", 10_000),
		"pairs":      append(repeat("[", 5_000), repeat("]", 5_000)...),
		"unclosed":   repeat("{[(", 3_000),
		"a string":   append([]byte("a = \""), repeat("x", 100_000)...),
		"operators":  repeat("- ", 10_000),
		"conditions": repeat("if (a) ", 2_000),
		"templates":  repeat("`${", 3_000),
	}
}

func TestParsersAreSharedByGoroutines(t *testing.T) {
	var parsers treesitter.Parsers
	defer parsers.Release()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 5 {
				tree, err := parsers.Parse(context.Background(), "java", []byte("class A { int b; }"))
				check.That(t, err == nil && tree.Kind(0) == "program", "%v", err)
				if i == 0 {
					parsers.Release()
				}
			}
		})
	}
	group.Wait()
}

func TestTree(t *testing.T) {
	var parsers treesitter.Parsers
	defer parsers.Release()
	tree, err := parsers.Parse(context.Background(), "python", []byte("def a(b): return b\n"))
	check.OK(t, err)
	definition := 1
	if tree.Kind(definition) != "function_definition" {
		t.Fatalf("the first child is %s", tree.Kind(definition))
	}
	var found []string
	for child := range tree.Children(definition) {
		found = append(found, tree.FieldName(child)+"/"+tree.Source(child))
	}
	want := "/def name/a parameters/(b) /: body/return b"
	got := strings.Join(found, " ")
	check.That(t, got == want, "children %q, want %q", got, want)
	if _, faulty := tree.Fault(); faulty {
		t.Error("a fault in a text without one")
	}
	tree, err = parsers.Parse(context.Background(), "python", []byte("a = 1\ndef (b:\n"))
	check.OK(t, err)
	if at, faulty := tree.Fault(); !faulty || at < 6 {
		t.Errorf("a fault at %d: %t", at, faulty)
	}
}
