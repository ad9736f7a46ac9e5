package observe_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
)

func TestResumed(t *testing.T) {
	const todo, strategy, opts = ".git/rebase-merge/git-rebase-todo", ".git/rebase-merge/strategy", ".git/sequencer/opts"
	for _, harmless := range [][3]string{
		{todo, "", "pick 1234 exec\nreword 1 x\nedit 2\nsquash 3\nfixup -C 4\nlabel x\nreset x\nmerge -C 5 topic # x\nupdate-ref refs/heads/x\nbreak\nnoop\n# exec x\n"},
		{todo, "exec make test\npick 1\n", "exec make test\n"},
		{strategy, "", "ort\n"}, {strategy, "mine\n", "mine\n"},
		{opts, "", "[options]\n\tstrategy = ours\n\tstrategy-option = theirs\n\tno-commit = true\n"},
		{".git/rebase-merge/message", "", "exec x\n"}, {".git/refs/replace/1", "", "1"},
	} {
		reason := observe.Resumed(harmless[0], harmless[1], harmless[2], true)
		check.That(t, reason == "", "%q: %s", harmless, reason)
	}
	for _, planted := range [][3]string{
		{todo, "", "exec id\n"}, {todo, "", "x id"}, {todo, "", "pick 1\n \texec\tid\r\n"}, {todo, "exec make\n", "exec id\n"}, {todo, "", "x\tid\n"},
		{strategy, "", "mine"}, {strategy, "ort", "/x"}, {opts, "", "[options] strategy = mine\n"}, {opts, "", "[options]\n\tStrategy=ours\"x\"\n"}, {opts, "", "[options]\nstrategy = \\\nmine"},
	} {
		check.That(t, observe.Resumed(planted[0], planted[1], planted[2], true) != "", "%q is taken for harmless", planted)
	}
	check.That(t, observe.Resumed(todo, "", "", false) != "", "what cannot be read is taken for harmless")
}

func TestGitState(t *testing.T) {
	for name, want := range map[string]bool{
		".git/refs/replace/12": true, ".git/refs/notes/commits": true, ".git/refs/bisect/bad": true, ".git/refs/heads/a/b": true, ".git/refs/stash": true, ".git/info/grafts": true,
		".git/shallow": true, "sub/.git/refs/tags/v1": true, ".git/rebase-merge/git-rebase-todo": true,
		".git/refs/remotes/origin/main": false, ".git/config": false, ".git/info/attributes": false, ".git/remotes/origin": false, ".git/refs/heads": false, "refs/heads/x": false,
	} {
		got := observe.GitState(name)
		check.That(t, got == want, "%s: %v", name, got)
	}
}
