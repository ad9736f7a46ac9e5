package tools_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// alike are patterns that mean the same to both; where they are written in another way for ripgrep, to whom \w, \d, \s and \b
// are of Unicode, both stand here. What is left out because the answers differ, each as documented:
//
//   - `.` and classes on bytes that are not UTF-8: a character here, as the file is shown; nothing there. Nor is what such a
//     file has beside ASCII the same, where it is Latin-1;
//   - a character before `$` in lines that end in a carriage return, which ripgrep's --crlf lets `.` be;
//   - \n, which no line has: never found here, an error there; \A and \z, which are of a line here.
//
// Of files: one with a NUL is not looked into here at all, there up to it; one with many other control characters and without
// UTF-8 is binary here only; and what is in another repository below is ignored here as in the rest of the workspace.
var alike = []struct{ ours, theirs string }{
	{"needle", ""}, {"needle in", ""}, {"^needle", ""}, {"needle$", ""}, {"^needle$", ""}, {"(?i)NEEDLE", ""}, {"(?i)nEEdle in a", ""},
	{"(?i)task", ""}, {"(?i)SIZE", ""}, {"(?i)kelvin", ""}, {"(?i)straße", ""}, {"(?i)É", ""}, {"(?i:T)ask", ""}, {"ta[rs]k", ""},
	{"foo|needle", ""}, {"foo|bar|needle", ""}, {"foobar|foobaz", ""}, {"(foo)(bar)?", ""}, {"(?:foo){2}", ""}, {"fo{2,3}b", ""}, {"fo+", ""}, {"fo*b", ""},
	{"[0-9]+", ""}, {"[0-9]{4}-[0-9]{2}", ""}, {"[A-Z][a-z]+", ""}, {"[^a-z ]", `[\x{0}-\x{60}{-\x{10ffff}&&[^ ]]`}, {"[[:upper:]]{3}", ""}, {"[[:digit:]]x", ""}, {"0x[0-9a-f]{2}", ""},
	{`\w+\(`, `(?-u:\w)+\(`}, {`\bneedle\b`, `(?-u:\b)needle(?-u:\b)`}, {`\d+`, `(?-u:\d)+`}, {`needle\s+in`, `needle(?-u:\s)+in`}, {`\Bfoo`, `(?-u:\B)foo`}, {`foo\b`, `foo(?-u:\b)`},
	{`\bin\b.*needle`, `(?-u:\b)in(?-u:\b).*needle`}, {`^\t+\w`, `^\t+(?-u:\w)`}, {`func \w+`, `func (?-u:\w)+`},
	{"^$", ""}, {"^", ""}, {"x*", ""}, {"", ""}, {"^[ \t]+$", ""}, {"a?", ""}, {"foo.*bar", ""}, {"f.o", ""}, {"foo.+?baz", ""}, {"^.{0,3}foo", ""}, {"(?s)foo.", ""}, {"(?m)^foo", ""},
	{"(?U)fo+", ""}, {`\.`, ""}, {`\$\{`, ""}, {`\[\]`, ""}, {`a\\b`, ""}, {`"[^"]*"`, ""}, {`/\*.*\*/`, ""}, {`\x41`, ""}, {`\x{e9}`, ""}, {`\t`, ""}, {`\Q.*\E`, `\.\*`},
	{"é", ""}, {"日本", ""}, {"[日-本]", ""}, {`\p{Greek}`, ""}, {`\p{Lu}\p{Ll}+`, ""}, {`\PL{4}`, ""}, {"α.γ", ""}, {"(a|b)+c", ""}, {"(?:a(?:b(?:c)?)?)d", ""}, {"absent", ""}, {"ab{0}d", ""},
	{"[ab]{12}", ""}, {"(x+x+)+y", ""}, {"rare[A-Z]|[0-9]rare", ""}, {`^(\w+) = \w+$`, `^((?-u:\w)+) = (?-u:\w)+$`},
}

// ripgrep gives the lines that ripgrep finds, as `path:line`, in the order of a walk.
func ripgrep(t *testing.T, dir, pattern string) []string {
	t.Helper()
	cmd := exec.Command("rg", "--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-parent", "--no-ignore-dot",
		"--glob=!**/.git", "--crlf", "--no-heading", "--with-filename", "--line-number", "--null", "--color=never", "--regexp", pattern, "./")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	check.Must(t, err == nil || errors.As(err, &exit) && exit.ExitCode() == 1, "rg %q: %v %s", pattern, err, said.String())
	type place struct {
		path string
		line int
	}
	var found []place
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "WARNING: stopped searching binary file") {
			continue
		}
		path, rest, is := strings.Cut(line, "\x00")
		number, _, _ := strings.Cut(rest, ":")
		check.Must(t, is, "rg %q: %q", pattern, line)
		found = append(found, place{strings.TrimPrefix(path, "./"), check.Value(strconv.Atoi(number))(t)})
	}
	slices.SortFunc(found, func(a, b place) int {
		if a.path == b.path {
			return a.line - b.line
		}
		return workspace.CompareWalk(a.path, b.path)
	})
	var places []string
	for _, p := range found {
		places = append(places, fmt.Sprintf("%s:%d", p.path, p.line))
	}
	return places
}

// agrees holds that a search finds what ripgrep does, in the same lines.
func agrees(t *testing.T, dir string, target *workspace.Target, ours, theirs string) {
	t.Helper()
	if theirs == "" {
		theirs = ours
	}
	want := ripgrep(t, dir, theirs)
	lines, _, truncated, err := tools.Search(context.Background(), target, ours, tools.UsualSearchBounds())
	check.OK(t, err)
	check.Equal(t, truncated, len(want) > 300, "%q: truncated", ours)
	want = want[:min(len(want), 300)]
	var got []string
	for _, line := range lines {
		parts := strings.SplitN(line, ":", 3)
		got = append(got, parts[0]+":"+parts[1])
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%q: from the %d. on\n%q\nripgrep\n%q", ours, i+1, got[min(i, len(got)):], want[min(i, len(want)):])
			return
		}
	}
}

// A search finds the files and lines that ripgrep does.
func TestSearchFindsWhatRipgrepDoes(t *testing.T) {
	check.Needs(t, "rg")
	dir := t.TempDir()
	files := map[string]string{
		".gitignore": "*.log\n/build/\nnode_modules\n!keep.log\n*.tmp\ndocs/*.draft\n", "build/x": "needle", "sub/build/x": "needle here\n", "a.log": "needle", "keep.log": "needle\n",
		"node_modules/a/b": "needle", "sub/node_modules": "needle", "docs/x.draft": "needle", "docs/y/x.draft": "needle\n", "sub/.gitignore": "/local\n!b.tmp\n", "sub/local": "needle", "sub/c/local": "needle",
		"sub/b.tmp": "needle\n", "sub/c/.gitignore": "*\n!*.go\n", "sub/c/x.go": "needle\n", "sub/c/x.py": "needle\n", ".hidden/.file": "needle in hay\n", ".git/config": "needle", "nested/.git": "needle", "nested/x": "needle",
		"crlf.txt": "needle\r\nfoo\r\n\r\nfoobar needle in\r\nx = y\r\nlast z\r\n", "mixed.txt": "needle\r\nfoo bar\nneedle\n\r\nTARK task\n", "no-end.txt": "a\nneedle", "no-end-crlf.txt": "a\r\nneedle",
		"empty": "", "newline": "\n", "newlines": "\n\n\n", "spaces": "  \n\t\n \t \n", "one": "x", "greek.txt": "αβγ ΑΒΓ\nα γ\nfoo α\n", "nihon.txt": "日本語\nこんにちは needle in a\n", "latin": "9 m\xfcde needle 1999-12\nfoo 9bar m\xfcde\n",
		"broken.txt": "héllo ünïcode ünd möre foo\n9 needle \xff in\nñandú \xc3 foobar\nÉCOLE école straße STRASSE\n", "bom.txt": "\ufeffneedle at the start\nfoo\n", "utf16le": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00f\x00o\x00o\x00\n\x00",
		"binary": "\x00\x01\x02needle\n", "binary2": "x\x00\nneedle\nfoo\n", "a b/c d.txt": "needle with spaces\n", "ünï/é.txt": "needle\n", "folds": "taſk ta\u212a \u212aELVIN kelvin ſize SIZE\nTask\nTASK\n",
		"code.go": "// A comment. /* in C */\nfunc main() {\n\tfmt.Println(\"foo\", `a\\b`, ${x}, a[], 0x4f)\n\tif x == \"\" { return }\n}\nfoofoo fooob fob foo9baz\nabcabcd abd ad\n",
		"lists":   "abababababab\nxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nxxxxxy\nrareA\n9rare\nkey = value\n.*\n# title\nABC 12x\nbaz z\n", "long": strings.Repeat("hay ", 200_000) + "needle " + strings.Repeat("hay ", 100_000) + "\nneedle\n",
		"a/x": "needle\n", "a.x": "needle\n", "a-x": "needle\n",
	}
	for i := range 40 {
		files[fmt.Sprintf("many/%d/f%d.txt", i%7, i)] = strings.Repeat("some hay\nA needle in it 2024-05\n\nfoo(bar)\r\n", 1+i%5)
	}
	target := searched(t, dir, files)
	check.OK(t, os.Symlink("../sub", filepath.Join(dir, "a", "link")))
	check.OK(t, os.Symlink("crlf.txt", filepath.Join(dir, "to-file")))
	for _, p := range alike {
		agrees(t, dir, target, p.ours, p.theirs)
	}
}

// Long files are looked into as well, and in lines that lie across what is read at a time.
func TestSearchOfLongFilesFindsWhatRipgrepDoes(t *testing.T) {
	check.Needs(t, "rg")
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("some hay and more of it é 日本 = ( ) value \t return")
	var b strings.Builder
	for line := 0; b.Len() < 40<<20; line++ {
		for range rnd.IntN(20) {
			b.WriteString(words[rnd.IntN(len(words))])
			b.WriteByte(' ')
		}
		if rnd.IntN(8000) == 0 {
			b.WriteString("needle in it")
		}
		b.WriteString([]string{"\n", "\r\n"}[line/10_000%2])
	}
	target := searched(t, dir, map[string]string{"long.txt": b.String(), "binary": b.String()[:10<<20] + "\x00" + b.String()[:1<<20], "src/short": "needle\n"})
	for _, pattern := range []string{"needle", "(?i)NEEDLE", "needle in|absent", "[n]eedle", "^needle", "^value .*needle"} {
		want := ripgrep(t, dir, pattern)
		// ripgrep gives what it finds before it finds that a file is binary.
		want = slices.DeleteFunc(want, func(place string) bool { return strings.HasPrefix(place, "binary:") })
		lines, skipped, _, err := tools.Search(context.Background(), target, pattern, tools.UsualSearchBounds())
		check.OK(t, err)
		check.Equal(t, skipped, 1, "%q: skipped", pattern)
		check.Must(t, len(lines) == min(len(want), 300) && (len(lines) > 0), "%q: %d lines, ripgrep has %d", pattern, len(lines), len(want))
		for i, line := range lines {
			check.That(t, strings.HasPrefix(line, want[i]+":"), "%q: %s, ripgrep %s", pattern, line, want[i])
		}
	}
}

// Trees with ignored files are seen as ripgrep sees them.
func TestSearchIgnoresWhatRipgrepDoes(t *testing.T) {
	check.Needs(t, "rg")
	rnd := rand.New(rand.NewPCG(7, 8))
	names := []string{"a", "b", "ab", "a.c", "b.c", ".a", "dir", "out"}
	rules := []string{"a", "b/", "/a", "*.c", "!a.c", "a/b", "/dir/*", "!/dir/a", "out/", "**/b", "a/**", "dir/**/b", "?b", "[ab].c", "!b", ".a", "/out", "*b", "!*.c"}
	for range check.Rounds(15, 500) {
		files := map[string]string{}
		name := func(depth int) string {
			var parts []string
			for i := range depth {
				parts = append(parts, names[rnd.IntN(len(names))]+strings.Repeat("-", i%2)) // so that few are a file and a directory
			}
			return strings.Join(parts, "/")
		}
		for range 40 {
			files[name(1+rnd.IntN(3))+"/"+names[rnd.IntN(len(names))]+"_"] = "needle\n"
			files[name(1+rnd.IntN(3))+"/x/"+names[rnd.IntN(len(names))]] = "needle\n"
		}
		for range 4 {
			lines := ""
			for range 1 + rnd.IntN(4) {
				lines += rules[rnd.IntN(len(rules))] + "\n"
			}
			files[filepath.Join(name(rnd.IntN(3)), ".gitignore")] = lines
		}
		dir := t.TempDir()
		target := searched(t, dir, files)
		agrees(t, dir, target, "needle", "")
		if t.Failed() {
			for path, content := range files {
				if filepath.Base(path) == ".gitignore" {
					t.Logf("%s: %q", path, content)
				}
			}
			return
		}
	}
}
