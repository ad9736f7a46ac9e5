package languages_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestSweep takes real files from ORCHESTRA_SWEEP (directories, separated by
// colons), or testdata, and counts for each language:
//
//   - mutations: one token is replaced, left out, doubled or swapped with its
//     neighbour. None may be proven, but where the token has no meaning or is a
//     name that nothing else uses.
//   - renames: one name that the file declares is replaced wherever it stands.
//   - layouts: white space and comments are changed between tokens.
func TestSweep(t *testing.T) {
	roots, perFile, files := []string{"testdata"}, 40, 1000
	if dirs := os.Getenv("ORCHESTRA_SWEEP"); dirs != "" {
		roots, perFile, files = filepath.SplitList(dirs), 6, 100
		if os.Getenv("ORCHESTRA_LONG") == "1" {
			perFile, files = 30, 600
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	only := os.Getenv("ORCHESTRA_LANGUAGES")
	for _, language := range languages.Names() {
		if only != "" && !strings.Contains(only, language) {
			continue
		}
		texts := collect(t, roots, extensions[language], files)
		if len(texts) == 0 {
			if roots[0] == "testdata" {
				t.Errorf("there is no sample of %s", language)
			}
			continue
		}
		var c counts
		for path, text := range texts {
			sweep(t, random, language, path, text, perFile, &c)
		}
		t.Logf("%s: %d files; %d of %d mutations proven; %d of %d renames; %d of %d layouts", language, len(texts),
			c.mutantsProven, c.mutants, c.renamesProven, c.renames, c.layoutsProven, c.layouts)
		if c.mutants == 0 || c.renames == 0 || 100*c.renamesProven < 90*c.renames || 100*c.layoutsProven < 90*c.layouts {
			t.Errorf("%s: below the bar", language)
		}
	}
}

var extensions = map[string][]string{
	"c": {".c", ".h"}, "cpp": {".cc", ".cpp", ".hpp"}, "csharp": {".cs"}, "java": {".java"}, "javascript": {".js", ".mjs", ".cjs", ".jsx"}, "kotlin": {".kt"},
	"php": {".php"}, "python": {".py"}, "ruby": {".rb"}, "rust": {".rs"}, "tsx": {".tsx"}, "typescript": {".ts", ".mts"},
}

type counts struct {
	mutants, mutantsProven, renames, renamesProven, layouts, layoutsProven int
}

func collect(t *testing.T, roots, extensions []string, most int) map[string]string {
	t.Helper()
	var paths []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, ".min.") {
				return nil
			}
			for _, extension := range extensions {
				if info, err := d.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(path, extension) && info.Size() > 200 && info.Size() < 60_000 {
					paths = append(paths, path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	random.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	texts := map[string]string{}
	for _, path := range paths[:min(most, len(paths))] {
		text, err := os.ReadFile(path)
		if err == nil {
			texts[path] = string(text)
		}
	}
	return texts
}

func evidence(language, path, before, after string) verdict.Verdict {
	return languages.Judge(language)(context.Background(), []verdict.File{{Path: path, Before: []byte(before), After: []byte(after)}}, limits())
}

func sweep(t *testing.T, random *rand.Rand, language, path, text string, times int, c *counts) {
	tokens := languages.Tokens(language, []byte(text))
	if len(tokens) < 10 {
		return
	}
	for range times {
		mutant, what := mutate(random, text, tokens)
		if mutant == text {
			continue
		}
		c.mutants++
		if v := evidence(language, path, text, mutant); v.Evidence == verdict.Proven || v.Evidence == verdict.ProvenLocal {
			c.mutantsProven++
			if !harmless(what, v, text, tokens) {
				t.Errorf("%s: %s: falsely %s: %s", path, what, v.Evidence, v.Reason)
			}
			t.Logf("mutation %s: %s: %s", v.Evidence, what, v.Reason)
			t.Logf("   in %s", path)
		}
	}
	for range max(1, times/3) {
		if renamed, what := rename(random, text, tokens); renamed != "" {
			c.renames++
			if v := evidence(language, path, text, renamed); v.Evidence == verdict.Proven || v.Evidence == verdict.ProvenLocal {
				c.renamesProven++
			} else if os.Getenv("ORCHESTRA_MISSES") != "" {
				t.Logf("rename missed: %s: %s", what, v.Reason)
			}
		}
	}
	c.layouts++
	if v := evidence(language, path, text, relayout(random, language, text, tokens)); v.Evidence == verdict.Proven {
		c.layoutsProven++
	} else if os.Getenv("ORCHESTRA_MISSES") != "" {
		t.Logf("layout missed: %s", v.Reason)
	}
}

// harmless tells whether a change of one token may be proven: the token is
// without meaning there, or the name of something that nothing else uses.
func harmless(what string, v verdict.Verdict, text string, tokens []languages.Token) bool {
	if len(v.Renames) == 1 {
		uses := 0
		for _, token := range tokens {
			if token.Name && text[token.Start:token.End] == v.Renames[0].From {
				uses++
			}
		}
		return uses == 1 || os.Getenv("ORCHESTRA_SWEEP") != "" // there by hand: the name may be another's, too
	}
	for _, empty := range []string{`";"`, `","`, `"|"`, `"&"`, `"\n"`, `"# define"`, `"#define"`} {
		if strings.HasPrefix(what, empty) || strings.HasPrefix(what, "swapped "+empty) {
			return true
		}
	}
	return false
}

// mutate changes one token.
func mutate(random *rand.Rand, text string, tokens []languages.Token) (mutant, what string) {
	for {
		i := random.IntN(len(tokens) - 1)
		a, b := tokens[i], tokens[i+1]
		if a.Comment || b.Comment {
			continue
		}
		old := text[a.Start:a.End]
		var with string
		switch random.IntN(5) {
		case 0:
			with = ""
		case 1:
			with = old + " " + old
		case 2:
			next := text[b.Start:b.End]
			what = fmt.Sprintf("swapped %q and %q", old, next)
			return text[:a.Start] + next + text[a.End:b.Start] + old + text[b.End:], what + where(text, a)
		default:
			other := tokens[random.IntN(len(tokens))]
			if other.Comment || other.Kind != a.Kind && random.IntN(4) > 0 {
				continue
			}
			with = text[other.Start:other.End]
		}
		return text[:a.Start] + with + text[a.End:], fmt.Sprintf("%q became %q", old, with) + where(text, a)
	}
}

func where(text string, token languages.Token) string {
	return fmt.Sprintf(" in line %d", 1+strings.Count(text[:token.Start], "\n"))
}

// rename gives a declared name another spelling wherever a name has it.
func rename(random *rand.Rand, text string, tokens []languages.Token) (renamed, what string) {
	var candidates []languages.Token
	for _, token := range tokens {
		if token.Declares {
			candidates = append(candidates, token)
		}
	}
	if len(candidates) == 0 {
		return "", ""
	}
	chosen := candidates[random.IntN(len(candidates))]
	old := text[chosen.Start:chosen.End]
	for _, token := range tokens {
		quoted := !token.Name && strings.Trim(text[token.Start:token.End], "\"'") == old
		if outside(token, chosen) {
			continue
		}
		if quoted || token.Pinned && text[token.Start:token.End] == old {
			return "", "" // to rename it takes more than its own tokens
		}
	}
	fresh := strings.TrimSuffix(old, "?") + "Renamed"
	if strings.Contains(text, fresh) {
		return "", ""
	}
	var out strings.Builder
	at := 0
	for _, token := range tokens {
		if text[token.Start:token.End] != old || token.Comment || !token.Named || outside(token, chosen) {
			continue
		}
		switch {
		case strings.HasPrefix(token.Kind, "shorthand_property_identifier"):
			out.WriteString(text[at:token.Start] + old + ": " + fresh)
		case token.Name:
			out.WriteString(text[at:token.Start] + fresh)
		default:
			continue
		}
		at = token.End
	}
	return out.String() + text[at:], fmt.Sprintf("%s%s", old, where(text, chosen))
}

// outside tells whether a token is outside of where a name could be seen.
func outside(token, declared languages.Token) bool {
	return token.Start < declared.RegionStart || token.Start >= declared.RegionEnd
}

// relayout changes white space where there is some already, and takes comments
// and blank lines out or puts them in.
func relayout(random *rand.Rand, language, text string, tokens []languages.Token) string {
	var out strings.Builder
	at, comment := 0, false
	for _, token := range tokens {
		gap := text[at:token.Start]
		if at > 0 && !token.Exact && !comment {
			gap = space(random, language, gap)
		}
		comment = token.Comment
		out.WriteString(gap + text[token.Start:token.End])
		at = token.End
	}
	return out.String() + text[at:]
}

func space(random *rand.Rand, language, gap string) string {
	if gap == "" || strings.Trim(gap, " \t\n") != "" {
		return gap
	}
	switch {
	case !strings.Contains(gap, "\n"):
		return strings.Repeat(" ", 1+random.IntN(3))
	case random.IntN(3) > 0:
		return gap
	default:
		line := lineComments[language]
		last := gap[strings.LastIndex(gap, "\n")+1:]
		if language != "python" {
			last = strings.Repeat(" ", random.IntN(12))
		}
		if line == "" {
			return gap + strings.Repeat("\n", random.IntN(3)) + last
		}
		return strings.Repeat(" ", random.IntN(3)) + " " + line + " a note\n" + strings.Repeat("\n", random.IntN(3)) + last
	}
}

// lineComments has none for TSX, where it may be text.
var lineComments = map[string]string{
	"c": "//", "cpp": "//", "csharp": "//", "java": "//", "javascript": "//", "kotlin": "//", "php": "//", "python": "#", "ruby": "#", "rust": "//",
	"typescript": "//",
}
