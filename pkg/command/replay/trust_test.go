package replay_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

func newTrust(t *testing.T) (*replay.Trust, string) {
	t.Helper()
	dir := t.TempDir()
	return &replay.Trust{Open: func() (*durable.Dir, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return durable.OpenRoot(root)
	}}, dir
}

func trusts(t *testing.T, trust *replay.Trust, now, want string) {
	t.Helper()
	got := check.Value(trust.Trusted(t.Context(), strings.Fields(now)))(t)
	if slices.Sort(got); strings.Join(got, " ") != want {
		t.Errorf("with %q on refs %q are trusted, want %q", now, got, want)
	}
}

func TestTrust(t *testing.T) {
	trust, _ := newTrust(t)
	trusts(t, trust, "a b", "a b")
	running, trusted, err := trust.Begin(t.Context(), []string{"a", "b", "c"}) // c came from a person
	if err != nil || !slices.Contains(trusted, "c") {
		t.Fatal(trusted, err)
	}
	trusts(t, trust, "a b c d", "a b c") // d came while the command ran
	check.OK(t, running.End(t.Context(), []string{"a", "b", "c", "d", "e"}, []string{"e"}, nil))
	trusts(t, trust, "a d e", "a b c e") // d is nobody's still
	trusts(t, trust, "a d e f", "a b c e f")
}

// A command whose server was killed vouches for nothing, nor does the time until it is found.
func TestTrustAfterAKill(t *testing.T) {
	trust, dir := newTrust(t)
	trusts(t, trust, "a", "a")
	// What a killed server leaves: the command's file, which nobody holds.
	check.OK(t, os.WriteFile(filepath.Join(dir, "run-X"), nil, 0o600))
	trusts(t, trust, "a b", "a")
	trusts(t, trust, "a b c", "a c")
	left, _ := filepath.Glob(filepath.Join(dir, "run-*"))
	check.That(t, len(left) == 0, "left: %q", left)
}

func TestTrustInADamagedFile(t *testing.T) {
	trust, dir := newTrust(t)
	check.OK(t, os.WriteFile(filepath.Join(dir, "tips.json"), []byte("{"), 0o600))
	_, err := trust.Trusted(t.Context(), []string{"a"})
	check.That(t, err != nil && strings.Contains(err.Error(), "tips.json"), "%v", err)
}

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
