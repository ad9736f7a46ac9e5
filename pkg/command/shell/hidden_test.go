//go:build unix

package shell_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Whatever hides a program from a rule that names it is seen, or said to be unjudged: each way of hiding is read in
// each wrapping, and what is not seen is run by the real shell. Only what that really ran counts.
func TestHiddenPrograms(t *testing.T) {
	program := check.Value(exec.LookPath("bash"))(t)
	stage := newStage(t, program, shell.Bash)
	stage.link(t, "flock", "setarch", "chrt", "ionice", "taskset", "prlimit", "unshare", "script", "strace", "watch", "awk", "sed", "make", "tar", "vim", "ed", "split",
		"sort", "true", "git", "python3", "node", "npx", "npm", "dd", "base64", "tr", "rev", "printf", "mktemp", "rm", "cp", "tee", "chmod", "sleep", "echo", "ls", "start-stop-daemon", "perl", "man", "less", "rsync", "gcc", "cmake", "openssl", "head", "nsenter", "setpriv", "run-parts", "chroot", "getopt", "ld", "uname", "ln", "go")
	random := rand.New(rand.NewPCG(*seed, 1))
	long := check.Long()
	lines, tried, ran, unseen := 0, 0, 0, 0
	for _, way := range ways() {
		for _, wrapping := range wrappings() {
			lines++
			at := filepath.Join(stage.dir, fmt.Sprint(stage.lines+1), "bin")
			line := strings.ReplaceAll(wrapping(way), "@BIN@", at)
			r := shell.Read(line, shell.Bash)
			seen := len(r.Unjudged) > 0 || strings.Contains(" "+names(r)+" ", " p0 ")
			// What is seen needs no shell; some of it is run to know that the ways are ways.
			if seen && random.IntN(map[bool]int{true: 8, false: 240}[long]) > 0 {
				continue
			}
			tried++
			if started, _ := stage.run(t, line); !slices.Contains(started, "p0") {
				continue
			}
			ran++
			if !seen {
				unseen++
				t.Errorf("%q runs p0, and the reading has only %q", line, names(r))
			}
		}
	}
	t.Logf("%d lines; of %d that were run %d ran the program, %d of them unseen", lines, tried, ran, unseen)
	check.That(t, ran >= tried/3, "the ways do not test much: %d of %d ran the program", ran, tried)
}

func (s *stage) link(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(s.bin, name)); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// wrappings put a line where shells have code. The first leaves it alone.
func wrappings() []func(string) string {
	form := func(format string) func(string) string {
		return func(line string) string { return fmt.Sprintf(format, line) }
	}
	quoted := func(format string) func(string) string {
		return func(line string) string {
			return fmt.Sprintf(format, "'"+strings.ReplaceAll(line, "'", `'\''`)+"'")
		}
	}
	return []func(string) string{
		form("%s"), form("true; %s"), form("(%s\n)"), form("{ %s\n}"), form("if true; then %s\nfi"), form("for q in 1; do %s\ndone"), form("f() { %s\n}; f"),
		form("case 1 in 1) %s\n;; esac"), form("true && {\n%s\n}"), form("x$(%s\n)=1"), form(": \"$(%s\n)\""), form("%s\n)"), form("%s\nif"), form("%s\n'"), form("cat <(%s\n)"),
		quoted("bash -c %s"), quoted("eval %s"), quoted("trap %s EXIT"), quoted("env A=1 bash -ec %s"), quoted("timeout 9 bash -c %s"), quoted("echo 1 | xargs bash -c %s _"),
		quoted("find . -maxdepth 0 -exec bash -c %s \\;"), form("bash <<'E_E'\n%s\nE_E\n"), form("coproc {\n%s\n}; wait"),
	}
}

// ways are lines that run p0 without naming it where a program stands.
func ways() []string {
	var ways []string
	add := func(lines ...string) { ways = append(ways, lines...) }
	// Names that are made when the line runs.
	for _, name := range []string{"$x", `"$x"`, "${x}", "${x:-y}", "${y:-p0}", "$(echo $x)", "`echo $x`", "${x:0:2}", "${x/q/p}", "${x#z}", "${x^y}", "$x$y", `"$@"`, "$1", "$*", "${@}", "${@:1}", "${!r}", "${a[0]}", "${a[@]}", "p$((0))",
		"p?", "[p]0", "{p0,}", "p{0,}", "p${y}0", "$'\\x70\\x30'", "$'p\\60'", `$"p0"`, "command $x", "builtin eval $x", "exec $x", "env $x", "env -- $x", "nice $x", "timeout 9 $x", "time $x", "! $x", "nohup $x",
		"$z p0", "${z} $x", "A=1 $x", "A=1 B=2 $x a b", "> /dev/null $x", "exec -a q $x", "command -- $x", `\command $x`, "builtin command $x", "setsid -w $x", "stdbuf -o0 $x", "$x <<E\nE\n"} {
		add("x=p0; a=(p0); r=x; set -- p0; " + name)
	}
	// Texts that are evaluated.
	code := "a[$(p0)]"
	for _, evaluator := range []string{
		"printf -v 'C' %%s v", "printf -v'C' %%s v", "printf '-vC' %%s v", "printf -v \"$x\" %%s v", "printf -v$x %%s v", "o=-v; printf $o \"$x\" v", "printf $w v", "o=v; printf -$o 'C' v", "set -- -v 'C' v; printf \"$@\"",
		"read 'C' <<< 1", "read -r \"$x\" <<< 1", "read -a 'C' <<< 1", "read $x <<< 1", "mapfile 'C' <<< 1", "readarray -t 'C' <<< 1",
		"test -v 'C'", "[ -v 'C' ]", "[ ! -v 'C' ]", "[ -v \"$x\" ]", "[ -v $x ]", "o=-v; [ $o \"$x\" ]", "o=-v; [ \"$o\" \"$x\" ]", "o=-v; [ \"$o\" $x ]", "[ $w ]", "v=$u'-v ''C'; [ $v ]", "[ ! $w ]", "set -- -v 'C'; [ \"$@\" ]", "set -- -v 'C'; [ $1 $2 ]", "set -- -v 'C'; [ \"$1\" \"$2\" ]", "test $w", "[ $(printf %%s '-v C') ]", "[ \"$o\" = y -o -v \"$x\" ]", "[ -R 'C' ]",
		"[[ -v 'C' ]]", "[[ -v $x ]]", "[[ -v a[$x] ]]", "[[ 'C' -eq 1 ]]", "[[ $x -eq 1 ]]", "[[ x -eq 1 ]]", "[[ 'x' -eq 1 ]]", "[[ \"x+0\" -gt 0 ]]", "[[ x+0 -eq 1 ]]", "[[ 1 -lt x*1 ]]", "y=x; [[ y -eq 0 ]]", "[[ a[x] -eq 1 ]]", "[[ b[x] -ne 1 ]]",
		"unset 'C'", "unset \"$x\"", "unset -v 'C'", "a=(1); unset 'C'", "unset a[x]",
		"declare 'C=1'", "declare \"$x=1\"", "typeset 'C=1'", "export 'C=1'", "readonly 'C=1'", "f() { local 'C=1'; }; f", "declare -a 'C=1'", "builtin declare 'C=1'", "command typeset 'C=1'",
		"declare -i y='C'", "declare -i y; y='C'", "typeset -i y=x", "local_() { local -i y='C'; }; local_", "readonly -i y 2>&1; declare -i y; y=x", "o=i; declare -$o y='C'", "declare -\"i\" y='C'", "export -i y 2>&1; declare -ir y='C'", "declare -i y; read y <<< 'C'", "declare -i y; for y in 'C'; do :; done", "declare -i y; printf -v y %%s 'C'", "declare -i y; y+='C'", "integer() { :; }; declare +x -i y=x", "builtin declare -i y='C'", "command declare -i y=x",
		"let 'C'", "let x", "let y=x", "let 'y=x+1'", "let \"$x\"", "command let 'C'", "builtin let x", "((x))", "((x+1))", "(( y=x ))", "((a[x]))", "(( $x ))", "(( ${x} ))", "(( \"$x\" ))", "for ((i=x;i<0;i++)); do :; done", "for ((;x;)); do break; done",
		": $((x))", ": $(( $x ))", ": $[x]", ": $[$x]", ": ${a[x]}", ": ${a[$x]}", ": ${#a[x]}", ": ${y:x}", "y=abc; : ${y:x}", "y=abc; : ${y:0:x}", "y=abc; : ${y: $x}", ": ${@:x}", "a[x]=1", "a[$x]=1", "a+=([x]=1)", "a=([x]=1)", "a=([x+0]=1)", "a[x+0]=1", ": ${a[x+0]}", ": ${a[x]:-y}", "b=x; ((b))", "b=y; y=x; ((b))", "b=x; : ${a[b]}",
		": ${!x}", "y=x; z=y; : ${!x}", "declare -n y=x; : $y", "declare -n y='C'; : $y", "typeset -n y='C'; y=1", "f() { local -n y=$1; y=1; }; f 'C'", "declare -n y; for y in 'C'; do :; done; : $y",
		"wait -p 'C' -n", "sleep 0 & wait -p \"$x\" -n", "sleep 0 & o=-p; wait $o $x -n", "sleep 0 & wait -np \"$x\"", "exec {a[x]}>/dev/null", "exec {a[$(p0)]}>/dev/null", "getopts a 'C' -a", "getopts a \"$x\" -a",
		"RANDOM='C'", "SECONDS='C'", "OPTIND='C'", "LINENO='C'", "RANDOM=$x", "SECONDS=$x", "for RANDOM in 'C'; do :; done", "read SECONDS <<< 'C'", "printf -v RANDOM %%s 'C'", "HISTCMD='C'", "BASHPID='C'", "SRANDOM='C'", "export RANDOM='C'", "RANDOM='C' true", "RANDOM=(1); RANDOM[0]='C'", "OPTIND=$x true", ": ${OPTIND:=$x}",
		"declare -a a='($(p0))'", "declare -a a=\"(\\$(p0))\"", "declare -A a='([k]=$(p0))'", "typeset -a a='(1 $(p0))'", "f() { local -a a='($(p0))'; }; f", "readonly -a a='($(p0))'", "export -a a='($(p0))' 2>&1", "declare -a 'a=($(p0))'", "declare -a \"a=(\\`p0\\`)\"", "o=-a; declare $o a='($(p0))'", "v='($(p0))'; declare -a a=\"$v\"", "v='($(p0))'; declare -a a=$v", "v='($(p0))'; declare -a \"a=$v\"", "declare -a a; declare a='($(p0))'", "a=(); declare a='($(p0))'", "b=(); f() { local b='($(p0))'; }; f", "declare -ga a='($(p0))'", "builtin declare -a a='($(p0))'", "command declare -a 'a=($(p0))'", "declare -a a[0]='($(p0))'", "v='($(p0))'; a=(); readonly a=\"$v\"", "mapfile a < /dev/null; declare a='($(p0))'", "read -a a <<< 1; declare a='($(p0))'", "a[1]=1; declare a='($(p0))'", "declare -ax a='($(p0))'", "declare -a a+='($(p0))'", "declare -A m=(); declare m='([a]=$(p0))'", "a=(); export a='($(p0))'", "a=(); typeset a='($(p0))'", "declare -ar a='($(p0))'",
		"declare -a a=('$(p0)'); eval \"x2=${a[0]}\"", "y='$(p0)'; : ${y@P}", "y='`p0`'; : \"${y@P}\"", "set -- '$(p0)'; : ${1@P}", "set -- '$(p0)'; : \"${@@P}\"", "set -- '$(p0)'; : ${*@P}", "b=('$(p0)'); : ${b[@]@P}", "b=('$(p0)'); : ${b[0]@P}", "b=('$(p0)'); : ${b@P}",
		"PS4='$(p0)'; set -x; :", "PS4='$(p0)' bash -xc :", "env PS4='$(p0)' bash -xc :", "export PS4='$(p0)'; bash -xc :", "declare -x PS4='$(p0)'; bash -xc :", "read -r PS4 <<< '$(p0)'; set -x; :", "printf -v PS4 %%s '$(p0)'; set -x; :", ": ${PS4:=}; PS4+='$(p0)'; set -x; :", "for PS4 in '$(p0)'; do set -x; :; done",
		"BASH_ENV=<(echo p0) bash -c :", "echo p0 > e; BASH_ENV=e bash -c :", "echo p0 > e; env BASH_ENV=e bash -c :", "echo p0 > e; export BASH_ENV=e; bash -c :", "echo p0 > e; command export BASH_ENV=$PWD/e; bash -c :",
		"BASH_ALIASES[q]=p0; shopt -s expand_aliases\nq", "alias q=p0; shopt -s expand_aliases\nq", "shopt -s expand_aliases; alias q=p0\nq", "set -o posix; alias q=p0\nq", "bash -O expand_aliases -c $'alias q=p0\\nq'", "bash --posix -c $'alias q=p0\\nq'",
		"hash -p \"$(command -v p0)\" q; q", "hash -p \"$(type -p p0)\" true2; true2", "hash -p$(type -p p0) q; q", "o=-p; hash $o $(type -p p0) q; q", "BASH_CMDS[q]=$(type -p p0); q",
		"mapfile -C p0 -c 1 a <<< 1", "mapfile -c1 -Cp0 a <<< 1", "readarray -c 1 -C 'eval p0;' a <<< 1", "o=-C; mapfile $o p0 -c 1 a <<< 1", "mapfile -tC p0 -c 1 a <<< 1", "builtin mapfile -C p0 -c1 a <<< 1",
		"trap p0 DEBUG; :", "trap -- p0 EXIT", "trap \"$p\" EXIT", "p=p0; trap \"$p\" EXIT", "p=p0; trap $p ERR; false", "f() { :; }; trap p0 RETURN; f; . /dev/null", "complete -C p0 q; compgen -C p0 q", "compgen -C p0", "compgen -W '$(p0)'", "compgen -F p0", "o=-C; compgen $o p0", "complete -W '$(p0)' q; compgen -W '$(p0)' -- ''", "enable -n test; p=p0; $p", "jobs -x p0", "o=-x; jobs $o p0", "jobs -x eval p0", "bind -x '\"q\":p0' 2>/dev/null; p=p0; $p", "fc -s p0 2>/dev/null; p=p0; $p",
		"eval \"$p\" p0", "p=p0; eval $p", "p=p0; eval \"$p\"", "eval $(echo p0)", "eval 'p='p0';$p'", "set -- p0; eval '$1'", "command eval p0", "builtin eval \"$(echo p0)\"", "set -- p0; . /dev/stdin <<< '$1'", ". /dev/stdin <<< p0", "source /dev/stdin <<E\np0\nE\n", ". <(echo p0)", "source <(echo p0)", "command . <(echo p0)", "echo p0 | . /dev/stdin", "exec 3<<< p0; . /dev/fd/3", ". /dev/fd/3 3<<< p0", ". /proc/self/fd/0 <<< p0", "cd /dev; . ./stdin <<< p0", "cd /dev/fd; bash 0 <<< p0", "bash /dev/../dev/stdin <<< p0", "bash <(echo p0)", "bash /dev/stdin <<< p0", "echo p0 | bash", "echo p0 | bash -s", "echo p0 | { bash; }", "echo p0 | (read q; $q)", "bash -c \"$(echo p0)\"", "bash <<< \"$(echo p0)\"", "bash -c '\"$0\"' p0", "bash -c '\"$@\"' _ p0", "bash -c 'eval \"$1\"' _ p0", "exec 0<<< p0; bash", "bash 0<<< p0", "bash 3<<< p0 <&3", "q=p0 bash -c '$q'", "export q=p0; bash -c '$q'", "env q=p0 bash -c '$q'", "bash --rcfile <(echo p0) -i -c : ", "bash --init-file <(echo p0) -i </dev/null", "HOME=$PWD; echo p0 > .bash_profile; bash -lc :", "echo p0 > e; ENV=e sh -i -c : ",
		"p0() { command p0; }; export -f p0; q=p0; $q", "q() { \"$@\"; }; q p0", "q() { $1; }; q p0", "env 'BASH_FUNC_q%%%%=() { p0; }' bash -c q", "command_not_found_handle() { command \"$1\"; }; q=p0; $q", "command_not_found_handle() { p${1#q}; }; q0", "true() { eval ${FUNCNAME/true/p0}; }; true",
		"PATH=$PWD:$PATH; cp \"$(type -p p0)\" q; echo", "ln -s \"$(type -p p0)\" ls; PATH=$PWD:$PATH; ls", "set -k; x=p0; $x", "set -o history -o histexpand\nx=p0\n$x", "set -o history -o histexpand\necho q0\n!!:s/echo q/p/", "set -o history; set -H\necho q0\n!!:s/echo q/p/",
		"select q in p0; do $q; break; done <<< 1", "while read q; do $q; done <<< p0", "for q in p0; do $q; done", "for q do $q; done", "set -- p0; for q; do $q; done", "case p0 in *) ${_:-p0};; esac", "coproc q { read c; $c; }; echo p0 >&${q[1]}; wait", "time $x", "printf '%%s\\n' p0 | while read -r q; do \"$q\"; done", "q=(env p0); \"${q[@]}\"", "q=(bash -c p0); ${q[*]}", "IFS=0; q=100; x=p0; $x",
	} {
		line := strings.ReplaceAll(evaluator, "%%", "%")
		line = strings.ReplaceAll(line, "'C'", "'"+code+"'")
		for _, form := range []string{"'C=1'", "'-vC'", "'-v C'"} {
			line = strings.ReplaceAll(line, form, strings.ReplaceAll(form, "C", code))
		}
		line = strings.ReplaceAll(line, "-v'C'", "-v'"+code+"'")
		add("x='" + code + "'; w='-v " + code + "'; " + line)
	}
	// Programs that run what their arguments name.
	const bin, p0 = "@BIN@", "@BIN@/p0"
	add("env -S 'p0 a'", "env -Sp0", "env -iS "+p0, "env --split-string='p0'", "env --split=p0", "env -vS p0", "env - "+p0, "env -u A -S p0", "env A=1 -S p0", "env -- A=1 p0",
		"flock l p0", "flock -n l p0", "flock l -c p0", "flock -x -w 3 l p0", "flock --exclusive l p0", "flock -c p0 l", "flock l --command p0", "flock -o l bash -c p0",
		"setarch x86_64 p0", "setarch -R p0", "linux64 p0", "chrt -o 0 p0", "ionice -c 3 p0", "taskset -c 0 p0", "prlimit --nofile=99 p0", "unshare p0", "unshare -r p0", "script -qc p0 /dev/null", "strace -o /dev/null p0", "start-stop-daemon --start --exec "+p0, "setpriv --nnp p0", "nsenter p0", "run-parts .", "ed <<< '!p0'", "i386 p0", "zip -q -T -TT p0 x.zip f", "dc -e '!p0'",
		"awk 'BEGIN{system(\"p0\")}'", "awk 'BEGIN { \"p0\" | getline }'", "awk 'BEGIN { print 1 | \"p0\" }'", "echo p0 | awk '{system($0)}'", "awk -v c=p0 'BEGIN{system(c)}'", "awk -F: 'BEGIN{printf \"a\" | \"p0\"}'", "awk \"BEGIN{system(\\\"p0\\\")}\"", "mawk 'BEGIN{system(\"p0\")}'",
		"echo 1 | sed '1e p0'", "echo 1 | sed 's/1/p0/e'", "echo p0 | sed e", "echo p0 | sed -n 's/.*/&/e;p'", "echo 1 | sed -e 's/x/y/' -e '1e p0'", "echo 1 | sed --expression='1ep0'", "echo 1 | sed '/1/{\ne p0\n}'", "echo 1 | sed -n '$!d;e p0'", "echo 1 | sed 's|1|p0|ge'", "echo 1 | sed 'y/1/2/;e p0'", "echo 1 | sed -s '1 e p0'", "echo 1 | sed -E 's,(1),p0,Ie'", "echo 1 | sed -ne '1e p0'", "echo 1 | sed '1!b;e p0'", "echo 1 | sed 's/[/]/x/;e p0'", "echo 1 | sed '\\,1,e p0'", "echo 1 | sed $'a x\\ne p0'", "echo 1 | sed '#n\ne p0'", "echo 1 | sed --follow-symlinks '1e p0'", "echo 1 | sed -l 9 '1e p0'", "echo 1 | sed -nl9 '1e p0'", "echo 1 | sed --line-length 9 '1e p0'", "echo 1 | sed -e '1e p0' -i f 2>&1 || echo 1 | sed -e '1e p0'", "echo 1 | sed -n -e p -ne '1e p0'", "echo 1 | sed 's/[[:alpha:]/]/#/;e p0'", "echo 1 | sed 'y/[/]/;e p0;/'", "echo 1 | sed $'b x}a\\\ne p0'", "echo 1 | sed 's/1/2/i;e p0'",
		"make -f - <<< $'x:\\n\\tp0'", "make --eval='x:;p0' x", "make -E 'x:;p0' x", "printf 'x:\\n\\techo\\n' > M; make -f M SHELL=p0", "printf 'x:\\n\\t$(CC)\\n' > M; make -f M CC=p0", "printf 'x:\\n\\t$(CC)\\n' > M; CC=p0 make -e -f M", "MAKEFLAGS='--eval=x:;p0' make x", "MAKEFLAGS='--eval=$(shell p0)' make x",
		"touch f; tar cf t f; tar xf t --to-command=p0", "touch f; tar cf t f --checkpoint=1 --checkpoint-action=exec=p0", "touch f; tar cf t -I p0 f", "touch f; tar -Ip0 -cf t f", "touch f; tar cf t --use-compress-program=p0 f", "touch f; tar cf t --use-comp p0 f", "touch f; tar cIf p0 t f", "touch f; TAR_OPTIONS='--checkpoint=1 --checkpoint-action=exec=p0' tar cf t f",
		"vim -es -c '!p0' -c q", "vim -es +'!p0' +q", "vim -es --cmd '!p0' +q", "ed -s <<< '!p0'", "ex -s <<< '!p0'", "printf '!p0\\nq\\n' | ed -s",
		"split --filter=p0 - <<< 1", "split --filt p0 - <<< 1", "seq() { printf '%s\\n' 3 2 1; }; seq | sort -S 1 --compress-program=p0",
		"git init -q .; git -c alias.q='!p0' q", "git init -q .; git -c core.pager=p0 -p log", "git init -q .; git -c core.fsmonitor=p0 status", "git init -q .; GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0='!p0' git q", "git init -q .; git submodule foreach p0", "git init -q .; git -c user.name=a -c user.email=b commit -qm a --allow-empty; git rebase --root -x p0", "git init -q .; git -c user.name=a -c user.email=b commit -qm a --allow-empty; git rebase --root --exec=p0", "git init -q .; git -c user.name=a -c user.email=b commit -qm a --allow-empty; git bisect start HEAD HEAD; git bisect run p0", "git init -q .; git clone -u p0 . q", "git init -q .; git clone --upload-pack=p0 . q", "git init -q .; git fetch --upload-pack p0 .", "git init -q .; git ls-remote --upload-pack=p0 .", "git ls-remote ext::p0", "GIT_ALLOW_PROTOCOL=ext git ls-remote 'ext::p0 %S'", "git init -q .; echo a > a; git add a; git grep -Op0 a", "git init -q .; echo a > a; git add a; git grep --open-files-in-pager=p0 a", "git init -q .; git config alias.q '!p0'; git q", "git init -q .; git archive --remote=. --exec=p0 HEAD", "git init -q .; GIT_EDITOR=p0 git -c user.name=a -c user.email=b commit --allow-empty", "git init -q .; GIT_PAGER=p0 git -p log", "git init -q .; EDITOR=p0 git config -e", "git init -q .; env PAGER=p0 git -p config -l", "git init -q .; command export GIT_PAGER=p0; git -p config -l", "git init -q .; builtin export PAGER=p0; git -p config -l", "git init -q .; declare -x PAGER=p0; git -p config -l", "git init -q .; read PAGER <<< p0; export PAGER; git -p config -l",
		"git init -q .; echo a > a; git add a; echo b > a; git difftool -y -x p0", "git init -q .; echo a > a; git add a; echo b > a; git difftool -y --extcmd=p0",
		"npx -c p0", "npx --call=p0", "npm exec -c p0", "npm x -c p0", "npx --no p0", "npx p0", "npm exec -- p0", "npm_config_script_shell=p0 npm exec -c ls",
		"rsync -e p0 a:b c", "rsync --rsh=p0 a:b c", "RSYNC_RSH=p0 rsync a:b c", "touch f; rsync --rsync-path=p0 f g", "gcc -wrapper p0 -E - <<< 1", "cmake -E env p0", "cmake -E time p0", "man -P p0 ls", "watch -n1 -g p0", "less +'!p0' /dev/null", "LESSOPEN='p0 %s' less /dev/null",
		"nice -n1 p0", "nohup p0", "timeout --signal=KILL 9 p0", "xargs p0 <<< 1", "xargs -a /dev/null p0", "find . -maxdepth 0 -exec p0 ';'", "find . -maxdepth 0 -okdir p0 ';' <<< y", "find -D exec . -maxdepth 0 -exec p0 ';'", "find . -files0-from f -exec p0 ';'", "find . -maxdepth 0 -newermt 2000-01-01 -exec p0 ';'", "find . -maxdepth 0 '(' -exec p0 ';' ')'", "xargs env <<< p0", "xargs <<< p0 -I% %", "xargs -I% bash -c % <<< p0", "echo p0 | xargs time",
		"(cd \"${0%/*}\" 2>/dev/null; p=p0; $p)", "/lib64/ld-linux-x86-64.so.2 /bin/sh "+p0, "/lib64/ld-linux-x86-64.so.2 \"$(type -p env)\" p0", "cd "+bin+" && ./p0", "cd "+bin+"/..; bin/p0", bin+"/../bin/p0", "/"+p0, "/proc/self/root"+p0,
		"go vet -vettool=p0 .", "go build -toolexec p0 .", "sh -c 'p='p0'; $p'", "dash -c '. /dev/stdin' <<< p0", "dash -c 'alias q=p0\nq'", "busybox sh -c p0", "bash -c 'p\"\"0'", "openssl list -providers; x=p0; $x", "perl -e 'exec \"p0\"' 2>&1; x=p0; $x",
		// Lines that do not parse to their end: what stands before is run.
		"p\"\"0; )", "x=p0; $x\n(", "p0\nfi", "p0 && echo\n}", "p0\ncase", "p0\n\"", "p0\n$(", "p0\n`", "p0\n<<", "p0\n${", "p0\ndone; echo", "p0\n&& a", "p0\n;; a", "eval 'p0\n)'", "bash -c 'p0\n)'", "trap 'p0\n)' EXIT", "bash <<'E'\np0\n)\nE\n", "p0\nif true; then", "p0\n((", "p0\n[[ a", "p0\n[[ a = ]]", "p0\nfoo() bar", "p0\na=(b", "p0 &\n)", "p0\n>", "p0\n| a", "p0\nfor 1 in a; do :; done",
	)
	return ways
}
