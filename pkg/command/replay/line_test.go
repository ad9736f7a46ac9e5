package replay_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

func TestReadLine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"git merge feature", "changes alone pure"},
		{"git status; git add -A && git commit -m x", "alone pure"},
		{"git --version", "alone pure"},
		{"git stash list && git worktree list", "alone pure"},
		{"cd src && git rebase main 2>&1 | tail -5", "changes alone pure"},
		{"npm test && git merge feature", "changes pure"},
		{"git co feature", "changes alone pure"},
		{`git "$x"`, "changes alone pure"},
		{"git rebase --exec 'make test' main", "changes alone"},
		{"git -c merge.x.driver=evil merge feature", "changes alone"},
		{"timeout 60 git pull", "changes alone pure fetches remotes"},
		{"git pull --rebase origin main", "changes alone pure fetches remotes origin"},
		{"git fetch origin main:refs/remotes/origin/x", "alone pure fetches origin"},
		{"git fetch --upload-pack=evil origin", "alone fetches origin"},
		{"git fetch origin && git update-ref refs/remotes/origin/main HEAD", "alone pure fetches origin"},
		{"git --git-dir=src/g fetch origin", "alone pure fetches origin"},
		{"git fetch && sh src/x", "pure fetches"},
		{"git fetch && git co x", "changes alone pure fetches"},
		{"git mv a b; git rm c", "changes alone pure paths"},
		{"git push origin 'refs/*:refs/*'", "alone pure pushes ledger"},
		{"git push --mirror", "alone pure pushes ledger"},
		{"git worktree prune", "changes alone pure"},
		{"git -C src worktree add -b x ../x", "changes alone pure tree"},
		{"git worktree lock x", "changes alone pure tree"},
		{"git merge --squash x", "changes alone pure uncommitted"},
	} {
		reading := shell.Read(c.line, shell.Bash)
		l := replay.ReadLine(&reading)
		got := ""
		for _, word := range []struct {
			name string
			is   bool
		}{
			{"changes", l.Changes}, {"alone", l.Alone}, {"pure", l.Pure}, {"fetches", l.Fetches}, {"pushes", l.Pushes}, {"remotes", l.Remotes},
			{"paths", l.Changes && l.Paths}, {"uncommitted", l.Uncommitted}, {"ledger", l.LedgerPush != ""}, {"tree", l.Tree != ""},
		} {
			if word.is {
				got += " " + word.name
			}
		}
		for _, remote := range l.Named {
			got += " " + remote
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("%s:\n%s, want\n %s", c.line, got, c.want)
		}
	}
}
