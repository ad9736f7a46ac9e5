package mutation_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// fuzzLimits keep one input short; what a judge says within them holds for
// larger ones.
func fuzzLimits() mutation.Limits {
	return mutation.Limits{Size: 1 << 16, Total: 1 << 17, Time: time.Minute, Depth: 200}
}

// FuzzJudge gives any two texts as versions of a file of each kind. No judge
// may fail, and a text that is judged to be another one's refactor is so in
// both directions and equals itself.
func FuzzJudge(f *testing.F) {
	names, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			f.Add(filepath.Base(archive.Files[i].Name), archive.Files[i].Data, archive.Files[i+1].Data)
		}
	}
	f.Fuzz(func(t *testing.T, name string, before, after []byte) {
		if !isFuzzed(name) {
			return
		}
		judge := func(before, after []byte) mutation.Verdict {
			return mutation.JudgeWithin(t.Context(), []mutation.File{{Path: "dir/a" + filepath.Ext(name), Before: append([]byte{}, before...), After: append([]byte{}, after...)}}, fuzzLimits())
		}
		v := judge(before, after)
		if strings.Contains(v.Reason, "the parser failed") {
			t.Fatalf("%s: %s", name, v.Reason)
		}
		if v.Reason == "" || strings.ContainsAny(v.Reason, "\n\r") || !utf8.ValidString(v.Reason) {
			t.Errorf("%s: the reason is not one line of text: %q", name, v.Reason)
		}
		if isRefactor(v) {
			if back := judge(after, before); !isRefactor(back) {
				t.Errorf("%s forth, but %s back (%s)", v.Evidence, back.Evidence, back.Reason)
			}
		}
		if !isRefactor(v) && v.Evidence != mutation.Unproven && v.Evidence != mutation.Unsupported {
			t.Errorf("evidence %q", v.Evidence)
		}
	})
}

// isFuzzed leaves the languages of the other parsers to their own targets.
func isFuzzed(name string) bool {
	switch filepath.Ext(name) {
	case ".go", ".json", ".jsonc", ".yaml", ".yml", ".toml", ".md", ".txt":
		return true
	}
	return false
}

// FuzzGoRename renames one identifier wherever it stands, and holds a verdict
// that it is a refactor to the parser's own resolution of names in one file.
func FuzzGoRename(f *testing.F) {
	for _, importPath := range []string{"container/list", "path"} {
		names, _ := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", importPath, "*.go")) //nolint:staticcheck // the tree of the go command that runs the test
		for _, name := range names {
			if content, err := os.ReadFile(name); err == nil {
				f.Add(content, "x", "y")
			}
		}
	}
	f.Add([]byte("package a\nfunc f(a, b int) int { return a - b }"), "a", "b")
	f.Fuzz(func(t *testing.T, content []byte, from, to string) {
		if !token.IsIdentifier(from) || !token.IsIdentifier(to) || from == to || len(content) > 1<<14 {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution); err != nil {
			return
		}
		tokens := lexemes(content)
		after := replaceTokens(content, tokens, func(_ int, l lexeme) string {
			if l.token == token.IDENT && l.text == from {
				return to
			}
			return l.text
		})
		v := mutation.JudgeWithin(t.Context(), []mutation.File{{Path: "a.go", Before: content, After: after}}, fuzzLimits())
		for _, r := range v.Renames {
			if r.From != from || r.To != to {
				t.Errorf("%s to %s is reported as %s to %s", from, to, r.From, r.To)
			}
		}
		used := bytes.Contains(content, []byte(to)) && len(after) != len(content)
		if v.Evidence == mutation.Proven && !used && len(v.Renames) == 0 && !bytes.Equal(after, content) && !onlyComments(content, from) {
			t.Errorf("proven without a rename: %s to %s", from, to)
		}
	})
}

// onlyComments tells whether a name stands nowhere in the syntax.
func onlyComments(content []byte, name string) bool {
	for _, l := range lexemes(content) {
		if l.token == token.IDENT && l.text == name {
			return false
		}
	}
	return true
}
