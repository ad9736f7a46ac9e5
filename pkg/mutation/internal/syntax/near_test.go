package syntax_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/syntax"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestNearIsWhole judges edits by the parts around them and as whole files: what
// the first proves the second proves as well.
func TestNearIsWhole(t *testing.T) {
	names, err := filepath.Glob("testdata/stock/[Ss]tock.*")
	if err != nil || len(names) == 0 {
		t.Fatal("no texts", err)
	}
	limits, edits := verdict.Limits{Depth: 2000}, check.Rounds(8, 2000)
	for _, name := range names {
		text := check.Value(os.ReadFile(name))(t)
		if syntax.Of(name) == "" {
			continue
		}
		text = bytes.Repeat(text, 3)
		r := rand.New(rand.NewPCG(1, uint64(len(text))))
		proven := 0
		for range edits {
			edited := disturb(r, text)
			f := verdict.File{Path: filepath.Base(name), Before: text, After: edited}
			syntax.Forget()
			whole := syntax.Judge(nil)(t.Context(), []verdict.File{f}, limits)
			near := syntax.Judge(nil)(t.Context(), []verdict.File{f}, limits)
			if whole.Evidence == verdict.Proven {
				proven++
			}
			if near.Evidence != whole.Evidence || strings.Contains(whole.Reason+near.Reason, "the analyser failed") {
				t.Errorf("%s: near %s (%s), as a whole %s (%s)\n%s", name, near.Evidence, near.Reason, whole.Evidence, whole.Reason, edited)
			}
		}
		t.Logf("%s: %d of %d proven", name, proven, edits)
	}
}

// disturb makes one small change: of white space, comments, brackets or words.
func disturb(r *rand.Rand, text []byte) []byte {
	pieces := []string{" ", "\n", "\n\n", "\t", "/* x */", "// x\n", "# x\n", "(", ")", "{", "}", "\"", "'", "`", ";", ",", "/*", "*/", "//", "#", "=begin\n", "\"\"\"", "x", "1", "\\\n", "<<A\n"}
	at := r.IntN(len(text))
	if i := bytes.IndexAny(text[at:], " \n;{}"); i >= 0 && r.IntN(4) > 0 {
		at += i
	}
	switch r.IntN(4) {
	case 0: // leave out a byte
		return append(append([]byte{}, text[:at]...), text[at+1:]...)
	case 1: // another word everywhere in a line
		from, to := bytes.LastIndexByte(text[:at], '\n')+1, at
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			to = at + i
		}
		words := strings.FieldsFunc(string(text[from:to]), func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') })
		if len(words) > 0 {
			line := strings.ReplaceAll(string(text[from:to]), words[r.IntN(len(words))], "other")
			return []byte(string(text[:from]) + line + string(text[to:]))
		}
	}
	piece := pieces[r.IntN(len(pieces))]
	return []byte(string(text[:at]) + piece + string(text[at:]))
}
