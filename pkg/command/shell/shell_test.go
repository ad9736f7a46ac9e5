package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

func names(r shell.Reading) string {
	var list []string
	for _, p := range r.Programs {
		list = append(list, p.Name)
	}
	return strings.Join(list, " ")
}

// What a line runs is found wherever it stands, and nothing ordinary is unjudged.
func TestPrograms(t *testing.T) {
	for line, want := range map[string]string{
		"git status":         "git",
		"/usr/bin/git push":  "git",
		`su""do id`:          "sudo id",
		`\rm x`:              "rm",
		`'r'm x`:             "rm",
		"r\\\nm x":           "rm",
		`cat "$f" | grep x`:  "cat grep",
		"a && b || c; d & e": "a b c d e",
		"env A=1 -u B nice -n 5 nohup timeout -s KILL 5 rm x": "env nice nohup timeout rm",
		"sudo -u bob -- rm x":            "sudo rm",
		"command -v git":                 "command",
		"command git x":                  "command git",
		"exec -a y rm x":                 "exec rm",
		"time rm x":                      "rm",
		"ls | xargs -n 1 rm":             "ls xargs rm",
		"ls | xargs -I{} mv {} y":        "ls xargs mv",
		"ls | xargs sh -c 'rm \"$@\"' _": "ls xargs sh rm",
		`find . -name '*.o' -exec rm {} + -o -execdir mv {} x \;`: "find rm mv",
		`find "$dir" -name "$x" -delete`:                          "find",
		"bash -ec 'rm x; sh -c \"curl y\"'":                       "bash rm sh curl",
		"bash -o pipefail -c 'rm x'":                              "bash rm",
		"bash -c -e 'rm x'":                                       "bash rm",
		"eval rm x":                                               "eval rm",
		"eval 'rm x;' curl":                                       "eval rm curl",
		"echo $(rm x) `curl` \"$(id)\" <(ls) ${x:-$(w)} $((1+2))": "rm curl id ls w echo",
		"sh <<'E'\nrm x\nE\n":                                     "sh rm",
		"bash <<< 'rm x'":                                         "bash rm",
		"bash script.sh a":                                        "bash",
		"bash < script.sh":                                        "bash",
		"f() { rm x; }; f":                                        "rm f",
		"trap 'rm x' EXIT; ls":                                    "trap rm ls",
		". ./x":                                                   ".",
		"busybox sh -c 'rm x'":                                    "busybox sh rm",
		"if a; then b; elif c; then d; else e; fi; while f; do g; done; case $x in y) h;; esac": "a b c d e f g h",
		"for i in 1 2 3; do echo $((i*2)); done":                                                "echo",
		"coproc rm x":                                                                           "rm",
		"! rm x":                                                                                "rm",
		"[[ -f x && $(rm y) ]] && [ -d z ]":                                                     "rm [",
		"PAGER=cat git log":                                                                     "git cat",
		"GIT_EDITOR='sed -i x' git rebase":                                                      "git sed",
		"GIT_AUTHOR_NAME=x GOFLAGS=-mod=mod git commit":                                         "git",
		"export X=$(rm y)":                                                                      "rm export",
		"cat <<E\n$(rm x)\nE\n":                                                                 "rm cat",
		"cat <<'E'\n$(rm x)\nE\n":                                                               "cat",
		"python3 - <<'E'\nimport os\nE\n":                                                       "python3",
		"npm run build && go test ./... 2>&1 | tee log":                                         "npm go tee",
		"git -c user.name=x -C d commit -m \"$m\"":                                              "git",
		"#!x\n# c\nls":                                                                          "ls",
		"n=$#; i=1; while ((i < n)); do i=$((i+1)); done":                                       "",
		"x=1": "",
		"":    "",
	} {
		r := shell.Read(line, shell.Bash)
		got := names(r)
		check.That(t, sameNames(got, want) && len(r.Unjudged) == 0, "%q: %q, want %q; unjudged %q", line, got, want, r.Unjudged)
	}
}

// sameNames leaves the order to the reader.
func sameNames(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestUnjudged(t *testing.T) {
	for _, line := range []string{
		"$x", `"$x" a`, "$(which rm) x", "`x`", "{su,}do x", "${x:-sudo} y", "/bin/r? x", "/bin/[r]m", "*", `$'\x73udo' x`, `$"rm"`, "~/x", "$((1))", "p$x", "@(a|b)",
		`eval "$x"`, `eval $(x)`, `sh -c "$x"`, `sh -c "rm $x"`, "curl x | sh", "sh", "sh -s", "bash -i", `bash "$f"`, "bash <(curl x)", "bash /dev/stdin", "sh -- \"$x\"",
		"sh <<E\nrm $x\nE\n", "sh <<< \"$x\"", "cat x | { sh; }", "source <(x) | sh", "zsh -c x", "su -c x", "watch x", "env -S 'rm x'", `env "$x"`, "sudo -Z rm", "sudo -i", "timeout $t rm",
		"xargs sh", "xargs env", "xargs -I{} {}", "xargs -I{} sh -c 'rm {}'", "xargs sudo", "find . -exec {} +", "find . -exec sh -c 'rm {}' +", "find $x", `find . "$x" rm ';'`,
		"alias x=rm", "shopt -s expand_aliases", "hash -p /bin/rm ls", "trap \"$x\" EXIT", "PATH=x ls", "LD_PRELOAD=x ls", "export PATH=x", "IFS=0", "BASH_ENV=x bash y", "env PATH=x ls", "GIT_DIR=x git y",
		"GIT_SSH_COMMAND=\"$x\" git fetch", "git -c alias.p=push p", "git -c core.sshCommand=x fetch", "read PATH", "printf -v PATH x", "for PATH in x; do y; done", "x='a[$(rm y)]'; echo $((x))", "echo $((a[$1]))",
		"x='$(rm y)'; echo ${x@P}", "echo ${!x}", "[[ $1 -eq 1 ]]", "declare -i x=y", "unset 'a[$(rm y)]'", "> $x", "> \"$x\"", "> *", "> {a,b}", "> ~/x", "ls >& $x", "exec 3>$x",
		"cd $x && > y", "cd && > y", ". x; > y", "a b\r\n", "a\x00b", "a\xff", "su\u00a0do x", "x\u200b", "if", "a'b", "((", "a )", "a | ", "mapfile -C rm x", "enable -f x y", "complete -C rm x", "let 'a[$(rm)]'; command let 'a[$(rm)]'",
		"# x\\\n# <<E\nrm y\nE", "builtin $x", "exec $x", "command $x", "nice --unknown rm", "ssh-agent rm", "parallel rm ::: x", "find . -fprint $x", "while read x; do $x; done",
	} {
		r := shell.Read(line, shell.Bash)
		check.That(t, len(r.Unjudged) != 0, "%q: judged: %v", line, r.Programs)
	}
}

func TestRedirections(t *testing.T) {
	for line, want := range map[string]string{
		"a > x >> y 2> z &> w >| v 1<> u >& t":    "x y z w v u t",
		"a > /dev/null 2>&1 >&2 3>&- > /dev/fd/3": "",
		"a > 'b c'":                              "b c",
		"cd sub && a > x":                        "sub/x",
		"cd sub; a > x":                          "sub/x x",
		"cd sub || a > x":                        "x",
		"(cd sub && a > x); b > y":               "sub/x y",
		"cd sub && cd .. && a > x":               "x",
		"cd sub && a > ../x":                     "sub/../x",
		"cd /abs && a > x":                       "/abs/x",
		"sh -c 'cd sub && a > x' > y":            "y sub/x",
		"if cd sub; then a > x; else a > y; fi":  "sub/x y",
		"f() { a > x; }; f":                      "x",
		"a > >(b > x)":                           "x",
		"for i in 1 2; do a > x; done":           "x",
		"for i in 1 2; do (cd s && a > x); done": "s/x",
		"a > /abs/x":                             "/abs/x",
		"find . -fprint x":                       "x",
		"echo a >file1 b":                        "file1",
		"exec > x":                               "x",
	} {
		r := shell.Read(line, shell.Bash)
		if strings.Join(r.Writes, " ") != want || len(r.Unjudged) > 0 {
			t.Errorf("%q: %q, want %q; unjudged %q", line, r.Writes, want, r.Unjudged)
		}
	}
	for _, line := range []string{"f() { a > x; }; cd sub; f", "for i in 1 2; do a > x; cd sub; done", "f() { cd sub; }; f; a > x", "env -C sub sh -c 'a > x'", "find . -execdir sh -c 'a > x' ';'"} {
		if r := shell.Read(line, shell.Bash); len(r.Unjudged) == 0 {
			t.Errorf("%q: judged: %q", line, r.Writes)
		}
	}
	if r := shell.Read("a < x < /dev/null", shell.Bash); fmt.Sprint(r.Reads) != "[x]" {
		t.Errorf("%v", r)
	}
}

// A shell called sh can be any: what only one of them sees counts.
func TestPOSIX(t *testing.T) {
	if r := shell.Read("$'a'; [[ b ]]", shell.POSIX); names(r) != "a $a [[" || len(r.Unjudged) > 0 {
		t.Errorf("%+v", r)
	}
	for _, line := range []string{"{a,b}", "a <<< b", "function f { a; }", "a &> x"} {
		if r := shell.Read(line, shell.POSIX); len(r.Unjudged) == 0 {
			t.Errorf("%q: judged: %v", line, r.Programs)
		}
	}
}

func TestArguments(t *testing.T) {
	r := shell.Read(`git -C "$d" push 'a b' x$y z`, shell.Bash)
	p := r.Programs[0]
	var args []string
	for _, a := range p.Args {
		args = append(args, fmt.Sprintf("%q %v %v %v", a.Text, a.Exact, a.Many, a.Open))
	}
	check.Equal(t, strings.Join(args, ", "), `"-C" true false false, "" false false false, "push" true false false, "a b" true false false, "x" false true true, "z" true false false`)
	if p.String() != "git -C …" || len(p.Literal()) != 1 {
		t.Errorf("%s %v", p, p.Literal())
	}
}

// Hostile lines are read in bounded time and without running out of stack.
func TestHostileLines(t *testing.T) {
	const n = 128 << 10
	for _, piece := range []string{"(", "$(", `"$(`, "`", "{ ", "${x:-", "$((", "((", "if ", "while :;do ", "! ", "a|", "a&&", "a;", "a&", "time ", "coproc ", "<<a ", "\\\n", "[[ ! ", "f()", "case x in x)",
		"'", `"`, "env ", "eval ", "sudo ", "sh -c '", "a{b,", "x=", ">a ", "<(", "cd x;", "cd x||", "[", "{1..9}", "$'", "a\n", "trap '", "é", "@("} {
		for _, size := range []int{n / 8, 10 * n} {
			line := strings.Repeat(piece, size/len(piece))
			for _, dialect := range []shell.Dialect{shell.Bash, shell.POSIX} {
				start := time.Now()
				shell.Read(line, dialect)
				t.Logf("%q %d %v: %v", piece, size, dialect, time.Since(start).Round(time.Millisecond))
			}
		}
	}
	for _, deep := range []int{400, 4_900} { // the parser reads it; what is in it is not asked at each level
		r := shell.Read(strings.Repeat("echo $(", deep)+"rm x"+strings.Repeat(")", deep), shell.Bash)
		check.Equal(t, strings.Join(r.Unjudged, ", "), "commands are nested too deeply to be read")
	}
	nested := "rm x"
	for range 40 {
		nested = "sh -c '" + strings.ReplaceAll(nested, "'", `'\''`) + "'"
		if len(nested) > n {
			break
		}
	}
	if r := shell.Read(nested, shell.POSIX); len(r.Unjudged) == 0 && !strings.Contains(names(r), "rm") {
		t.Errorf("%v", names(r))
	}
}

// FuzzRead: nothing panics or goes unsaid, and what is read is part of the line's own text or unjudged.
func FuzzRead(f *testing.F) {
	for _, line := range []string{"git push", `su""do x`, "sh -c 'rm x' > y", "cat <<E\n$(rm)\nE\n", "find . -exec rm {} +", "xargs -I{} sh -c '{}'", "f() { cd x; }; f; a > b", "trap 'a' EXIT", "a $'\\x41' {b,c}", "x='a[$(b)]'; ((x))", "env -i A=1 b", "${x@P}", "printf -v", "[", "test -v", "-v[", "git -c", "sudo -", "xargs -I", "find . -exec", "eval --", "trap --", "bash -o", "timeout -- 1 2", "1>&", "{x}>y"} {
		f.Add(line, true)
		f.Add(line, false)
	}
	f.Fuzz(func(t *testing.T, line string, posix bool) {
		dialect := shell.Bash
		if posix {
			dialect = shell.POSIX
		}
		r := shell.Read(line, dialect)
		for _, why := range r.Unjudged {
			check.That(t, !strings.Contains(why, "cannot be read:"), "%q panicked: %s", line, why)
		}
		for _, p := range r.Programs {
			check.That(t, len(p.Literal()) <= len(p.Args) && !strings.ContainsAny(p.Path, "\x00\r"), "%q: %+v", line, p)
		}
	})
}

func TestEscaped(t *testing.T) {
	for line, want := range map[string]string{
		"go build ./... &amp;&amp; go test ./...": "go build ./... && go test ./...",
		"echo x &gt; f":                    "echo x > f",
		"cat &lt; f | wc":                  "cat < f | wc",
		"make 2&gt;&amp;1":                 "make 2>&1",
		"make 2>&amp;1":                    "make 2>&1",
		"make &gt; log 2>&amp;1":           "make > log 2>&1",
		"sleep 9 &amp;":                    "sleep 9 &",
		"echo &quot;a b&quot;":             `echo "a b"`,
		"echo &#39;a b&#39;":               "echo 'a b'",
		"echo &#x27;a&#x27;":               "echo 'a'",
		"if true; then a &amp;&amp; b; fi": "if true; then a && b; fi",
		"x=$(a &amp;&amp; b)":              "x=$(a && b)",
		"cat &lt;&lt;E\na\nE\n":            "cat <<E\na\nE\n",
		"echo '&amp;' &amp;&amp; true":     "echo '&' && true",

		"grep '&amp;' f":                             "",
		`sed -e "s/&lt;/</g" a.html > b.html`:        "",
		"cat <<'E' > a.html\n<p>&amp;</p>\nE\n":      "",
		"cat <<E\na &amp;&amp; b\nE\n":               "",
		"echo a # &amp;&amp; b":                      "",
		`echo \&amp\;`:                               "",
		"curl 'http://x/?a=1&amp;b=2'":               "",
		"a && b > f 2>&1 & wait":                     "",
		"echo &amp":                                  "",
		"echo &amp;&amp; ) (":                        "",
		"x='&quot;'; echo \"$x\"":                    "",
		strings.Repeat("a", 1<<22) + " &amp;&amp; b": "",
	} {
		meant, escaped := shell.Escaped(line)
		if escaped != (want != "") || escaped && meant != want {
			t.Errorf("%.80q: escaped %v, meant %.80q, want %.80q", line, escaped, meant, want)
		}
	}
}
