package mutation_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// fuzzLimits keep one input short; what a judge says within them holds for larger ones.
func fuzzLimits() mutation.Limits {
	return mutation.Limits{Size: 1 << 16, Total: 1 << 17, Time: time.Minute, Depth: 200}
}

// FuzzJudge gives any two texts as versions of a file of each kind. No judge may fail, and a text that is judged to be
// another one's refactor is so in both directions and equals itself.
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
			return mutation.JudgeAmong(t.Context(), []mutation.File{{Path: "dir/a" + filepath.Ext(name), Before: append([]byte{}, before...), After: append([]byte{}, after...)}}, nil, fuzzLimits())
		}
		v := judge(before, after)
		check.Must(t, !strings.Contains(v.Reason, "the parser failed"), "%s: %s", name, v.Reason)
		if v.Reason == "" || strings.ContainsAny(v.Reason, "\n\r") || !utf8.ValidString(v.Reason) {
			t.Errorf("%s: the reason is not one line of text: %q", name, v.Reason)
		}
		if isRefactor(v) {
			back := judge(after, before)
			check.That(t, isRefactor(back), "%s forth, but %s back (%s)", v.Evidence, back.Evidence, back.Reason)
		}
		check.That(t, isRefactor(v) || v.Evidence == mutation.Unproven || v.Evidence == mutation.Unsupported, "evidence %q", v.Evidence)
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
