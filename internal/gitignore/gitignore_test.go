package gitignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	gopath "path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

func list(t *testing.T, lines ...string) gitignore.List {
	t.Helper()
	var l gitignore.List
	for i, line := range lines {
		r, ok, err := gitignore.Parse(line)
		check.Must(t, err == nil, "Parse(%q): %v", line, err)
		if ok {
			r.Line = i + 1
			l = append(l, r)
		}
	}
	return l
}

func TestMatch(t *testing.T) {
	tests := []struct {
		rules    string
		yes, not string // paths; a slash at the end marks a directory
	}{
		{"*.log", "a.log x/a.log a.log/b", "a.logs log"},
		{"build/", "build/ build/x a/build/x", "build a/build"},
		{"/build", "build build/x", "a/build"},
		{"a/b", "a/b a/b/c", "x/a/b b"},
		{"**/a/b", "a/b a/x/a/b a/x/a/b/c", "a/x/b"},
		{"a/**/b", "a/b a/x/y/b", "x/a/b"},
		{"abc/**", "abc/x abc/x/y", "abc abc/ x/abc/y"},
		{"*.log\n!keep.log", "a.log", "keep.log x/keep.log"},
		{"!keep.log\n*.log", "keep.log", "x"},
		{"d/\n!d/keep", "d/keep d/", "keep"},
		{"d/*\n!d/keep", "d/x", "d/keep d/"},
		{"*\n!*/\n!*.go", "a.c x/a.c", "a.go x/a.go x/"},
		{`\!x`, "!x", "x"},
		{`\#x`, "#x", "x"},
		{"#x", "", "#x x"},
		{"x   ", "x", "x\\"},
		{"[!a]x", "bx", "ax"},
		{"[^a]x", "bx", "ax"},
		{"a?c", "abc", "ac a?"},
		{"foo**bar", "fooxbar x/foobar", "foo/bar"},
		{"**", "a a/b .x", ""},
		{"**/", "d/ d/x", "a"},
		{"/**", "a a/b", ""},
		{"{a,b}", "{a,b}", "a b"},
		{".env", ".env x/.env", ".envrc"},
	}
	for _, tt := range tests {
		l := list(t, strings.Split(tt.rules, "\n")...)
		for _, path := range strings.Fields(tt.yes) {
			if _, ok := match(l, path); !ok {
				t.Errorf("%q does not match %q", tt.rules, path)
			}
		}
		for _, path := range strings.Fields(tt.not) {
			if r, ok := match(l, path); ok {
				t.Errorf("%q matches %q by %q", tt.rules, path, r.Text)
			}
		}
	}
}

func match(l gitignore.List, path string) (gitignore.Rule, bool) {
	clean, dir := strings.CutSuffix(path, "/")
	rule, is := l.Match(clean, dir)
	for _, at := range []gitignore.At{l.At(gopath.Dir(clean)), enter(l, gopath.Dir(clean))} {
		if at.Match(gopath.Base(clean), dir) != is {
			panic(fmt.Sprintf("in its directory %q is judged otherwise by %v", path, l))
		}
	}
	return rule, is
}

// enter goes through the directories on the way.
func enter(l gitignore.List, dir string) gitignore.At {
	if dir == "." {
		return l.At(dir)
	}
	return enter(l, gopath.Dir(dir)).Enter(gopath.Base(dir))
}

func TestMatchTrailingSpaceAndLine(t *testing.T) {
	l := list(t, "# comment", `a\ `, "b ")
	if r, ok := l.Match("a ", false); !ok || r.Line != 2 || r.Negated() {
		t.Errorf("escaped trailing space: %+v %v", r, ok)
	}
	if r, ok := l.Match("b", false); !ok || r.Line != 3 || r.Text != "b" {
		t.Errorf("trailing space: %+v %v", r, ok)
	}
	if _, ok := l.Match(".", true); ok {
		t.Error("the root matches")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"[a", "!", "/", "!/", "//", `a\`, "../a", "a/../b", "[[:alpha:]]", "a\tb", "a\xff"} {
		r, ok, err := gitignore.Parse(line)
		check.That(t, err != nil, "Parse(%q) = %+v %v", line, r, ok)
	}
}

// TestAgreesWithGit compares random lists with what git says.
func TestAgreesWithGit(t *testing.T) {
	rounds := check.Rounds(40, 1000)
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q")
	names := []string{"a", "b", "ab", "a.c", "b.c", ".a"}
	var paths []string
	for _, x := range names {
		for _, y := range names {
			must(t, os.MkdirAll(filepath.Join(dir, "d"+x, "d"+y), 0o755))
			paths = append(paths, "d"+x+"/"+y, "d"+x+"/d"+y+"/a", "d"+x+"/d"+y+"/b.c")
		}
		paths = append(paths, x, "d"+x+"/")
	}
	for _, p := range paths {
		if !strings.HasSuffix(p, "/") {
			must(t, os.WriteFile(filepath.Join(dir, p), nil, 0o644))
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range rounds {
		lines := randomLines(rnd)
		must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
		ignored := map[string]bool{}
		// Without the slashes: git finds out itself what is a directory, and matches a slash that is given as text.
		stdin := strings.ReplaceAll(strings.Join(paths, "\x00")+"\x00", "/\x00", "\x00")
		out := git(t, dir, []byte(stdin), "check-ignore", "--no-index", "-z", "--stdin")
		for p := range strings.SplitSeq(out, "\x00") {
			ignored[p] = true
		}
		l := list(t, lines...)
		for _, p := range paths {
			_, got := match(l, p)
			check.Must(t, got == ignored[strings.TrimSuffix(p, "/")], "rules %q, path %q: got %v, git says otherwise", lines, p, got)
		}
	}
}

func randomLines(rnd *rand.Rand) []string {
	pieces := []string{"a", "b", "d", "da", "*", "?", "[ab]", "[!a]", ".c", "*.c", "d*"}
	var lines []string
	for range 1 + rnd.IntN(5) {
		var segments []string
		for range 1 + rnd.IntN(3) {
			if rnd.IntN(5) == 0 {
				segments = append(segments, "**")
				continue
			}
			seg := pieces[rnd.IntN(len(pieces))]
			if rnd.IntN(3) == 0 {
				seg += pieces[rnd.IntN(len(pieces))]
			}
			segments = append(segments, strings.ReplaceAll(seg, "**", "*"))
		}
		line := strings.Join(segments, "/")
		if rnd.IntN(4) == 0 {
			line = "/" + line
		}
		if rnd.IntN(4) == 0 {
			line += "/"
		}
		if rnd.IntN(4) == 0 {
			line = "!" + line
		}
		lines = append(lines, line)
	}
	return lines
}

// git runs git apart from the user's and the system's configuration.
func git(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	exit := (*exec.ExitError)(nil)
	check.Must(t, err == nil || asExit(err, &exit) && exit.ExitCode() == 1, "git %v: %v", args, err)
	return string(out)
}

func asExit(err error, to **exec.ExitError) bool {
	exit, ok := err.(*exec.ExitError)
	*to = exit
	return ok
}

func must(t *testing.T, err error) {
	t.Helper()
	check.OK(t, err)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*.log", "!a/", "**/x/**", `\ `, "[!]", "/", "a/**/"} {
		f.Add(seed, "a/b.log")
	}
	f.Fuzz(func(t *testing.T, line, path string) {
		r, ok, err := gitignore.Parse(line)
		if err != nil || !ok {
			return
		}
		l := gitignore.List{r}
		if _, hit := l.Match(path, false); hit {
			_, below := l.Match(path+"/x", false)
			check.That(t, below, "%q matches %q but not what is below it", line, path)
		}
	})
}

func ExampleList_Match() {
	var l gitignore.List
	for _, line := range []string{"*.log", "!keep.log"} {
		r, _, _ := gitignore.Parse(line)
		l = append(l, r)
	}
	_, a := l.Match("logs/a.log", false)
	_, b := l.Match("keep.log", false)
	fmt.Println(a, b)
	// Output: true false
}
