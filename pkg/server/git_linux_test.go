package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// gitWorld is a workspace with people's branches: feature changes docs/other.md, which is out of scope, and src/a.txt;
// clash changes the same lines of both as main does later.
func gitWorld(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t)
	check.Git(t, dir, "config", "user.name", "U")
	check.Git(t, dir, "config", "user.email", "u@example.org")
	check.Git(t, dir, "symbolic-ref", "HEAD", "refs/heads/main")
	check.Write(t, dir, ".git/info/exclude", "/.orchestration/\n")
	person := func(message string, files ...string) {
		for i := 0; i < len(files); i += 2 {
			check.Write(t, dir, files[i], files[i+1])
		}
		check.Git(t, dir, "add", "-A")
		check.Git(t, dir, "commit", "-qm", message)
	}
	const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	person("base", "docs/other.md", lines, "src/a.txt", lines, "docs/gone.md", "x\n", "docs/more/deep.md", "deep\n")
	check.Git(t, dir, "switch", "-qc", "feature")
	person("feature one", "docs/other.md", strings.Replace(lines, "one", "ONE", 1), "src/a.txt", strings.Replace(lines, "one", "ONE", 1), "docs/new/n.md", "new\n")
	check.Git(t, dir, "rm", "-q", "docs/gone.md")
	check.Git(t, dir, "commit", "-qm", "feature two")
	check.Git(t, dir, "switch", "-qc", "clash", "main")
	person("clash", "docs/other.md", strings.Replace(lines, "seven", "clash", 1))
	check.Git(t, dir, "switch", "-q", "main")
	person("main goes on", "docs/other.md", strings.Replace(lines, "seven", "SEVEN", 1), "docs/main.md", "m\n")
	return dir
}

// gitCase is a line with what it leaves.
type gitCase struct {
	name string
	// before is done by a person, in a shell.
	before string
	// lines are the agent's, one call each; the last one counts.
	lines []string
	// refused is the code of the refusal, "" for none; says stands in it.
	refused, says string
	exit          int
	// status is git status --porcelain behind it; kinds are the records of the last call, and files what some say.
	status string
	kinds  string
	files  map[string]string
	// ran: the refused line was run; then is what a person does behind it, which works.
	ran  bool
	then string
}

const (
	// leftovers are what a killed server left.
	leftovers = "d=.orchestration/state/layers; mkdir -p $d/OLD/0/work/work $d/OLD/0/upper; chmod 0 $d/OLD/0/work/work; touch $d/OLD.lock;"
	// remote gives main a remote, outside of the workspace, that has one commit more.
	remote = `far=$(mktemp -d "$HOME/far.XXXXXX"); git init -q --bare "$far"; git remote add origin "$far"; echo far > docs/remote.md; git add docs; git commit -qm far; git push -q origin main;
		git fetch -q; git reset -q --hard HEAD~1; git config branch.main.remote origin; git config branch.main.merge refs/heads/main; git update-ref refs/remotes/origin/main HEAD;`
	// far is another repository in scope, with a commit that changes what is not.
	far = `git clone -q . src/far; (cd src/far; git config user.name A; git config user.email a@example.org; echo evil > docs/far.md; git add docs; git commit -qm far);`
	// submodule is one that the last commit has and nobody fetched yet.
	submodule = `far=$(mktemp -d "$HOME/sub.XXXXXX"); git init -q "$far"; (cd "$far"; git config user.name P; git config user.email p@example.org; git commit -q --allow-empty -m a; git commit -q --allow-empty -m b);
		git -c protocol.file.allow=always submodule add -q "$far" sub; git commit -qm sub; git submodule -q deinit -f sub; rm -rf .git/modules/sub;`
	// secret makes a branch that changes what is secret.
	secret = `echo 'secret:private/' > .orchestration/.intentignore; mkdir private; echo k > private/key; git add -f private; git commit -qm key; git switch -qc other; echo l > private/key;
		git commit -qam l; git switch -q main;`
	// evil makes a branch of a commit that changes docs/other.md.
	evil = `git branch evil $(git commit-tree -p HEAD -m evil $(git ls-tree -r HEAD | sed "s/blob [0-9a-f]*\tdocs\/other.md/blob $(echo evil | git hash-object -w --stdin)\tdocs\/other.md/" | GIT_INDEX_FILE=src/i sh -c 'git update-index --index-info && git write-tree && rm src/i'))`
)

func TestAgentsUseGit(t *testing.T) {
	t.Parallel()
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	const other = "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
	world := gitWorld(t)
	// quick are tried without ORCHESTRA_LONG too, beside what the tests below do in a linked work tree.
	quick := []string{"merge", "merge --abort", "rebase", "cherry-pick", "revert", "stash pop of a person's", "pull",
		"clean, with a person's file out of scope", "commit-tree with another content", "fetch from a directory", "rebase --exec that writes out of scope",
		"a secret, and a command behind it", "update-ref -d of the ledger's ref", "packed-refs without the ledger's ref"}
	var table []string
	for _, c := range []gitCase{
		{name: "merge, fast-forward", before: "git reset -q --hard main~1", lines: []string{"git merge -q feature"}, kinds: "git command", files: map[string]string{"docs/new/n.md": "new\n"}},
		{name: "merge", lines: []string{"git merge -q feature"}, kinds: "git command", files: map[string]string{"docs/other.md": strings.Replace(other, "one", "ONE", 1)}},
		{name: "merge with a pipe", lines: []string{"git merge feature 2>&1 | tail -3"}, kinds: "git command"},
		{name: "merge that conflicts", lines: []string{"git merge -q clash"}, exit: 1, status: "UU docs/other.md", kinds: "git command"},
		{name: "merge --abort", before: leftovers, lines: []string{"git merge -q clash", "git merge --abort"}, kinds: "git command", files: map[string]string{"docs/other.md": other}},
		{name: "merge --no-ff --no-commit", lines: []string{"git merge -q --no-ff --no-commit feature"}, kinds: "git command", status: "D  docs/gone.md\nA  docs/new/n.md\nM  docs/other.md\nM  src/a.txt"},
		{name: "merge --squash, then reset --hard", lines: []string{"git merge -q --squash feature", "git reset -q --hard"}, kinds: "git command", files: map[string]string{"docs/other.md": other}},
		{name: "merge --squash, commit, then rebase", lines: []string{"git merge -q --squash feature", "git commit -qm squashed", "git rebase -q clash"}, exit: 1, kinds: "git command", status: "A  docs/main.md\nUU docs/other.md"},
		{name: "rebase", lines: []string{"git switch -q feature", "git rebase -q main"}, kinds: "git command", files: map[string]string{"docs/other.md": strings.Replace(other, "one", "ONE", 1), "docs/main.md": "m\n"}},
		{name: "rebase in one line", lines: []string{"git checkout -q feature && git rebase -q main && git checkout -q main && git merge -q feature"}, kinds: "git command"},
		{name: "rebase that conflicts", lines: []string{"git switch -q clash", "git rebase -q main"}, exit: 1, kinds: "git command", status: "UU docs/other.md"},
		{name: "rebase --abort", lines: []string{"git switch -q clash", "git rebase -q main", "git rebase --abort"}, kinds: "git command"},
		{name: "rebase --skip", lines: []string{"git switch -q clash", "git rebase -q main", "git rebase --skip"}, kinds: "git command", files: map[string]string{"docs/other.md": other}},
		{name: "rebase --exec that changes nothing", lines: []string{"git switch -q feature", "git rebase -q --exec 'test -e src/a.txt' main"}, kinds: "git command"},
		{name: "rebase of own commits", lines: []string{"git switch -qc own main~1", "echo mine > src/b.txt; git add src; git commit -qm own", "git rebase -q main"}, kinds: "git command", files: map[string]string{"src/b.txt": "mine\n", "docs/main.md": "m\n"}},
		{name: "rebase of own commits with a conflict in scope, --continue", lines: []string{"git switch -qc own main~1", "echo mine > src/a.txt; git commit -qam own", "git rebase -q feature", "echo both > src/a.txt; git add src/a.txt", "GIT_EDITOR=true git rebase --continue"},
			kinds: "command", files: map[string]string{"src/a.txt": "both\n", "docs/new/n.md": "new\n"}},
		{name: "cherry-pick", lines: []string{"git cherry-pick feature~1"}, kinds: "git command", files: map[string]string{"docs/new/n.md": "new\n"}},
		{name: "cherry-pick of two", lines: []string{"git cherry-pick feature~1 feature"}, kinds: "git command"},
		{name: "cherry-pick -n", lines: []string{"git cherry-pick -n feature~1"}, kinds: "git command", status: "A  docs/new/n.md\nM  docs/other.md\nM  src/a.txt"},
		{name: "cherry-pick that conflicts, --abort", lines: []string{"git cherry-pick clash", "git cherry-pick --abort"}, kinds: "git command", files: map[string]string{"docs/other.md": other}},
		{name: "revert", lines: []string{"git revert --no-edit main"}, kinds: "git command"},
		{name: "revert of a merge", lines: []string{"git merge -q --no-ff feature", "git revert --no-edit -m 1 HEAD"}, kinds: "git command", files: map[string]string{"docs/other.md": other}},
		{name: "reset --hard", lines: []string{"git reset -q --hard HEAD~1"}, kinds: "git command"},
		{name: "reset --mixed", lines: []string{"git reset -q HEAD~1"}, kinds: "command", status: " M docs/other.md\n?? docs/main.md"},
		{name: "reset --soft", lines: []string{"git reset -q --soft HEAD~1"}, kinds: "command", status: "A  docs/main.md\nM  docs/other.md"},
		{name: "checkout of a branch", lines: []string{"git checkout -q feature"}, kinds: "git command"},
		{name: "checkout -b", lines: []string{"git checkout -qb topic feature"}, kinds: "git command"},
		{name: "checkout of a path in scope", lines: []string{"git checkout -q feature -- src/a.txt"}, kinds: "command", status: "M  src/a.txt"},
		{name: "checkout of a path out of scope", lines: []string{"git checkout -q feature -- docs/other.md"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "switch -c, and back", lines: []string{"git switch -qc topic feature && git switch -q main"}, kinds: "command"},
		{name: "stash and pop, own change", lines: []string{"echo x > src/a.txt", "git stash -q", "git stash pop -q"}, kinds: "git command", status: " M src/a.txt"},
		{name: "stash, with a person's change out of scope", before: "echo mine >> docs/other.md", lines: []string{"git stash -q"}, refused: "COMMAND_BLOCKED", says: "docs/other.md", status: " M docs/other.md"},
		{name: "stash pop of a person's", before: "echo mine >> docs/other.md; git stash -q", lines: []string{"git stash pop -q"}, kinds: "git command", status: " M docs/other.md"},
		{name: "reset --hard, with a person's change out of scope", before: "echo mine >> docs/other.md", lines: []string{"git reset -q --hard"}, refused: "COMMAND_BLOCKED", says: "that no person has committed", status: " M docs/other.md"},
		{name: "reset --hard, with what a person staged", before: "echo mine >> docs/other.md; git add docs; git show :docs/other.md > /dev/null; git show HEAD:docs/other.md > docs/other.md", lines: []string{"git reset -q --hard"},
			refused: "COMMAND_BLOCKED", says: "staged", status: "MM docs/other.md"},
		{name: "the same, committed by the agent before", before: "echo mine >> docs/other.md", lines: []string{"git add -A; git commit -qm mine", "git reset -q --hard HEAD~1"}, refused: "COMMAND_BLOCKED", says: "that no person has committed"},
		{name: "clean, with a person's file out of scope", before: "echo mine > docs/untracked", lines: []string{"git clean -fdq"}, refused: "COMMAND_BLOCKED", says: "docs/untracked", status: "?? docs/untracked"},
		{name: "merge over a person's change", before: "echo mine >> docs/other.md", lines: []string{"git merge -q feature"}, exit: 2, kinds: "command", status: " M docs/other.md"},
		{name: "pull", before: remote, lines: []string{"git pull -q"}, kinds: "git command", files: map[string]string{"docs/remote.md": "far\n"}},
		{name: "pull --rebase", before: remote + "git reset -q --hard HEAD~1; echo l > src/l.txt; git add src; git commit -qm local;", lines: []string{"git pull -q --rebase"}, kinds: "git command", files: map[string]string{"docs/remote.md": "far\n", "src/l.txt": "l\n"}},
		{name: "pull of a remote that is gone", before: remote + `rm -rf "$far"`, lines: []string{"git pull -q"}, refused: "COMMAND_BLOCKED", says: "failed when it was rehearsed"},
		{name: "fetch, then merge", before: remote, lines: []string{"git fetch -q", "git merge -q origin/main"}, kinds: "git command", files: map[string]string{"docs/remote.md": "far\n"}},
		{name: "apply of a patch in scope", before: "git diff main feature -- src > src/p.diff", lines: []string{"git apply src/p.diff"}, kinds: "command", status: " M src/a.txt\n?? src/p.diff"},
		{name: "apply of a patch out of scope", before: "git diff main feature > src/p.diff", lines: []string{"git apply src/p.diff"}, refused: "SCOPE_VIOLATION", says: "docs/", status: "?? src/p.diff"},
		{name: "am of people's commit", before: "git format-patch -q -1 -o src feature~1", lines: []string{"git am -q src/*.patch"}, kinds: "git command", status: "?? src/0001-feature-one.patch"},
		{name: "am of another patch", before: "git switch -q feature; echo evil > docs/evil.md; git add docs; git commit -qm evil; git format-patch -q -1 -o src; git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git switch -q main", lines: []string{"git am -q src/*.patch"},
			refused: "SCOPE_VIOLATION", says: "docs/evil.md", status: "?? src/0001-evil.patch"},
		{name: "rm out of scope", lines: []string{"git rm -q docs/main.md"}, refused: "SCOPE_VIOLATION", says: "docs/main.md"},
		{name: "mv out of scope", lines: []string{"git mv docs/main.md src/m.md"}, refused: "SCOPE_VIOLATION", says: "docs/main.md"},
		{name: "worktree add", lines: []string{"git worktree add -q src/tree feature"}, refused: "PROTECTED_PATH", says: "terminal"},
		{name: "worktree add -b, outside of the workspace", lines: []string{"git worktree add -q -b x ../tree"}, refused: "PROTECTED_PATH", says: "terminal"},
		{name: "worktree add -b, in an ignored directory", before: "echo .worktrees/ >> .git/info/exclude", lines: []string{"git worktree add -q -b x .worktrees/x"}, refused: "PROTECTED_PATH", says: "terminal"},
		{name: "worktree remove", before: "git worktree add -q src/tree feature", lines: []string{"git worktree remove src/tree"}, refused: "PROTECTED_PATH", says: "terminal", status: "?? src/tree/"},
		{name: "worktree move", before: "git worktree add -q src/tree feature", lines: []string{"git worktree move src/tree src/moved"}, refused: "PROTECTED_PATH", says: "terminal", status: "?? src/tree/"},
		{name: "worktree prune, nothing", lines: []string{"git worktree prune"}, kinds: "command"},
		{name: "worktree prune", before: "git worktree add -q src/tree feature; rm -r src/tree", lines: []string{"git worktree prune"}, refused: "PROTECTED_PATH", says: "terminal"},
		{name: "worktree lock", before: "git worktree add -q src/tree feature", lines: []string{"git worktree lock src/tree"}, refused: "PROTECTED_PATH", says: "terminal", status: "?? src/tree/"},
		{name: "worktree repair", before: "git worktree add -q src/tree feature; mv src/tree src/moved", lines: []string{"git worktree repair src/moved"}, refused: "PROTECTED_PATH", says: "terminal", status: "?? src/moved/"},
		{name: "worktree list", before: "git worktree add -q src/tree feature", lines: []string{"git worktree list"}, kinds: "command", status: "?? src/tree/"},
		{name: "submodule update", before: submodule, lines: []string{"git submodule update -q --init"}, refused: "PROTECTED_PATH", says: "terminal"},
		{name: "submodule update, of one that is there", before: submodule + "git -c protocol.file.allow=always submodule update -q --init; git -C sub checkout -q HEAD~1;", lines: []string{"git submodule update -q"}, refused: "PROTECTED_PATH", says: "terminal", status: " M sub"},
		{name: "submodule add", lines: []string{`git -c protocol.file.allow=always submodule add -q "file://$PWD" src/sub`}, refused: "PROTECTED_PATH", says: "terminal"},
		{name: "submodule status", before: submodule, lines: []string{"git submodule status"}, kinds: "command"},
		{name: "switch that sets an upstream", before: remote, lines: []string{"git fetch -q", "git switch -q --track -c up origin/main"}, refused: "PROTECTED_PATH", says: ".git/config", status: ""},
		{name: "switch to a remote's branch by its name", before: remote + "git push -q origin feature; git branch -qD feature; git fetch -q;", lines: []string{"git switch -q feature"}, kinds: "git command"},

		// Attacks.
		{name: "commit-tree with another content", lines: []string{evil, "git reset -q --hard evil"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "the same, merged", lines: []string{evil, "git merge -q evil"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "the same, as a remote-tracking branch", lines: []string{evil + " && git update-ref refs/remotes/origin/main evil", "git merge -q origin/main"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "the same, with the author of a person's commit", lines: []string{strings.Replace(evil, "git commit-tree", `GIT_AUTHOR_DATE="$(git log -1 --format=%ad --date=raw feature)" git commit-tree`, 1), "git merge -q evil"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "the same, with the message of a revert", lines: []string{strings.Replace(evil, "-m evil", `-m "x" -m "This reverts commit $(git rev-parse main)."`, 1), "git cherry-pick evil"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "the same, by a new session", lines: []string{evil, "NEW SESSION", "git merge -q evil"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "update-index, then checkout-index", lines: []string{"git update-index --cacheinfo 100644,$(echo evil | git hash-object -w --stdin),docs/other.md", "git checkout-index -f docs/other.md"}, refused: "SCOPE_VIOLATION", says: "docs/other.md", status: "MM docs/other.md"},
		{name: "fetch from a directory", before: far, lines: []string{"git fetch -q src/far main:refs/remotes/origin/main", "git merge -q origin/main"}, refused: "SCOPE_VIOLATION", says: "docs/far.md", status: "?? src/far/"},
		{name: "pull from a directory", before: far, lines: []string{"git pull -q src/far main"}, refused: "SCOPE_VIOLATION", says: "docs/far.md", status: "?? src/far/"},
		{name: "pull from a remote in the workspace", before: far + "git remote add origin src/far", lines: []string{"git pull -q origin main"}, refused: "SCOPE_VIOLATION", says: "docs/far.md", status: "?? src/far/"},
		{name: "rebase --exec that writes out of scope", lines: []string{"git switch -q feature", "git rebase -q --exec 'echo evil > docs/main.md' main"}, refused: "SCOPE_VIOLATION", says: "docs/main.md"},
		{name: "a hook that writes out of scope", before: "mkdir -p .git/hooks; printf '#!/bin/sh\necho evil > docs/main.md\n' > .git/hooks/post-merge; chmod +x .git/hooks/post-merge", lines: []string{"git merge -q feature"}, refused: "SCOPE_VIOLATION", says: "docs/main.md"},
		{name: "a filter that writes otherwise", before: "git config filter.x.smudge 'sed s/new/evil/'; echo 'docs/new/* filter=x' > .git/info/attributes", lines: []string{"git merge -q feature"}, refused: "SCOPE_VIOLATION", says: "docs/new/n.md"},
		{name: "a merge driver", before: "git config merge.x.driver 'echo evil > %A'; echo 'docs/* merge=x' > .git/info/attributes", lines: []string{"git merge -q feature"}, refused: "SCOPE_VIOLATION", says: "docs/other.md"},
		{name: "attributes that come with a branch", before: "git config filter.x.smudge 'sed s/new/evil/'; git switch -q feature; echo '* filter=x' > docs/.gitattributes; git add docs; git commit -qm attributes; git switch -q main", lines: []string{"git merge -q feature"}, refused: "SCOPE_VIOLATION", says: "docs/new/n.md"},
		{name: "-c of a merge driver", lines: []string{"echo 'docs/* merge=x' > src/attributes", "git -c core.attributesFile=src/attributes -c merge.x.driver='echo evil > %A' merge -q feature"}, refused: "SCOPE_VIOLATION", says: "docs/other.md", status: "?? src/attributes"},
		{name: "a branch with governance files", before: "git add -f .orchestration/active_intents.yaml; git commit -qm i; git switch -qc gov; echo '# x' >> .orchestration/active_intents.yaml; git commit -qam g; git switch -q main", lines: []string{"git merge -q gov"}, refused: "PROTECTED_PATH", says: "active_intents.yaml"},
		{name: "a branch with .intentignore", before: "git switch -q feature; echo 'unscoped:**' > .intentignore; git add .intentignore; git commit -qm rules; git switch -q main", lines: []string{"git merge -q feature"}, refused: "PROTECTED_PATH", says: ".intentignore"},
		{name: "a branch with program configuration", before: "git switch -q feature; echo '{}' > .mcp.json; git add .mcp.json; git commit -qm rules; git switch -q main", lines: []string{"git merge -q feature"}, refused: "APPROVAL_REQUIRED", says: ".mcp.json"},
		{name: "a branch with a secret", before: "echo 'secret:private/' > .orchestration/.intentignore; git switch -q feature; mkdir private; echo k > private/key; git add -f private; git commit -qm key; git switch -q main", lines: []string{"git merge -q feature"}, refused: "INTENTIGNORE_PATH_BLOCKED", says: "private/key"},
		{name: "a branch that changes a secret", before: secret, lines: []string{"git merge -q other"}, refused: "INTENTIGNORE_PATH_BLOCKED", says: "private/key"},
		{name: "a secret, with errors thrown away", before: secret, lines: []string{"git merge -q other 2>/dev/null"}, refused: "INTENTIGNORE_PATH_BLOCKED", says: "private/key"},
		{name: "a secret, and a command behind it", before: secret, lines: []string{"git merge -q other >/dev/null 2>&1; git status -s"}, refused: "INTENTIGNORE_PATH_BLOCKED", says: "private/key"},
		{name: "push --mirror", lines: []string{"git push --mirror origin"}, refused: "PROTECTED_PATH", says: "refs/orchestra"},
		{name: "push of the ledger's ref", lines: []string{"git push origin refs/orchestra/ledger"}, refused: "PROTECTED_PATH", says: "refs/orchestra"},
		{name: "update-ref of the ledger's ref", before: "git update-ref refs/orchestra/ledger HEAD", lines: []string{"git update-ref refs/orchestra/ledger HEAD~1"}, exit: 128, kinds: "command"},
		{name: "packed-refs without the ledger's ref", before: "git update-ref refs/orchestra/ledger HEAD; git pack-refs --all", lines: []string{"git status -s; sed -i /orchestra/d .git/packed-refs"},
			refused: "COMMAND_OUT_OF_SCOPE", ran: true, says: "refs/orchestra/ledger", then: "git rev-parse refs/orchestra/ledger", kinds: "command"},
		{name: "update-ref -d of the ledger's ref", before: "git update-ref refs/orchestra/ledger HEAD", lines: []string{"git update-ref -d refs/orchestra/ledger"}, exit: 1, kinds: "command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if check.Long() || slices.Contains(quick, c.name) {
				table = append(table, c.run(t, world))
			}
		})
	}
	slices.Sort(table)
	t.Logf("%s", "\n"+strings.Join(table, "\n"))
}

func (c gitCase) run(t *testing.T, world string) string {
	dir := filepath.Join(t.TempDir(), "w")
	check.Shell(t, ".", fmt.Sprintf("cp -a '%s' '%s'", world, dir))
	if c.before != "" {
		check.Shell(t, dir, c.before)
	}
	b, s := start(t, dir).under("INT-001")
	var r reply
	since := 0
	for i, line := range c.lines {
		if line == "NEW SESSION" {
			b = b.another(legacy)
			s = b.Selects("INT-001")
			continue
		}
		since = len(b.entries())
		if i == len(c.lines)-1 && c.refused != "" {
			was := snapshotOf(t, dir)
			r = b.Refused(c.refused, "execute_command", args{"session": s, "command": line})
			is := snapshotOf(t, dir)
			check.That(t, is == was || c.ran, "a refused line left\n%s\nof\n%s", is, was)
			break
		}
		if r = b.OK("execute_command", args{"session": s, "command": line}); i < len(c.lines)-1 {
			continue
		}
		check.Equal[any](t, r.Object["exit_code"], float64(c.exit), "%s: exit", line)
	}
	check.That(t, strings.Contains(r.Text, c.says), "it does not say %q: %s", c.says, r.Text)
	status := strings.TrimRight(check.Git(t, dir, "status", "--porcelain"), "\n")
	check.That(t, status == c.status, "git status: %q, want %q\n%s", status, c.status, r.Text)
	var kinds []string
	for _, e := range b.entries()[since:] {
		kinds = append(kinds, string(e.Kind))
		check.That(t, len(e.Violations) == 0 || c.ran, "violations: %+v", e.Violations)
	}
	if is := strings.Join(kinds, " "); c.refused == "" && is != c.kinds {
		t.Errorf("records: %s, want %s\n%s", is, c.kinds, r.Text)
	}
	if c.then != "" {
		check.Shell(t, dir, c.then)
	}
	for name, want := range c.files {
		check.Equal(t, b.read(name), want, "%s says", name)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".orchestration/state/layers/*"))
	check.That(t, len(left) == 0, "layers are left: %v", left)
	b.verify()
	outcome := fmt.Sprint("exit ", c.exit)
	if c.refused != "" && !c.ran {
		outcome = "refused beforehand: " + c.refused
	}
	return fmt.Sprintf("%-40s | %-60s | %-45s | status %-20q | %s", c.name, summary(c.lines), outcome, c.status, strings.Join(kinds, " "))
}

// entries are the ledger's, the oldest first.
func (b *bench) entries() []record.Entry {
	b.t.Helper()
	found := check.Value(b.server.Ledger().Query(b.t.Context(), record.Filter{}))(b.t)
	return found.Entries
}

// snapshotOf is all of a workspace but what is the server's own.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check.OK(t, filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		if name == ".orchestration" || serversOwn(name) {
			return filepath.SkipDir
		}
		text := ""
		if e.Type().IsRegular() && !strings.HasSuffix(name, ".git/index") {
			content, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("%q", content)
		}
		fmt.Fprintln(&b, name, e.Type(), text)
		return nil
	}))
	return b.String()
}

// summary is the lines of a case for the table.
func summary(lines []string) string {
	text := strings.Join(lines, " ; ")
	if len(text) > 100 {
		text = text[:97] + "..."
	}
	return text
}

// Below the level full nothing tells what git does from what the agent does.
func TestGitThatChangesFilesNeedsTheLevelFull(t *testing.T) {
	t.Parallel()
	b, s := start(t, gitWorld(t), unsandboxed).under("INT-001")
	for _, line := range []string{"git merge -q feature", "git -C src stash", "git co feature", "cd src && git rebase main || true"} {
		was := snapshotOf(t, b.dir)
		r := b.Refused("COMMAND_BLOCKED", "execute_command", args{"session": s, "command": line})
		check.That(t, strings.Contains(r.Text, "&& "+line) && strings.Contains(r.Text, "terminal"),
			"%s: it does not say what a person types: %s", line, r.Text)
		check.Equal(t, snapshotOf(t, b.dir), was, "%s changed something", line)
	}
	for _, line := range []string{"git status", "git stash list", "git log -1", "git diff feature", "git branch own", "git apply --stat /dev/null", "git mv src/a.txt src/b.txt", "git rm -q -f src/b.txt"} {
		b.OK("execute_command", args{"session": s, "command": line})
	}
}

// A linked work tree is treated as a plain clone, though git's directory is outside.
func TestAgentsUseGitInALinkedWorkTree(t *testing.T) {
	t.Parallel()
	main := gitWorld(t)
	dir := filepath.Join(t.TempDir(), "tree")
	check.Git(t, main, "worktree", "add", "-q", "-b", "work", dir, "main")
	check.Write(t, dir, ".orchestration/active_intents.yaml", intentsYAML)
	b, s := start(t, dir).under("INT-001")
	was := check.Git(t, main, "status", "--porcelain", "--branch")
	for _, line := range []string{"git merge -q feature", "git revert --no-edit -m 1 HEAD", "git rebase -q --abort 2>/dev/null; git reset -q --hard main", "git stash -q; git cherry-pick feature~1"} {
		check.Equal[any](t, b.OK("execute_command", args{"session": s, "command": line}).Object["exit_code"], float64(0), "%s", line)
		check.Equal(t, check.Git(t, dir, "status", "--porcelain"), "", "%s left", line)
	}
	check.Equal(t, check.Git(t, main, "status", "--porcelain", "--branch"), was, "the main work tree was")
	check.Equal(t, b.read("docs/new/n.md"), "new\n")
	check.Write(t, dir, "docs/other.md", "a person's\n")
	b.Refused("COMMAND_BLOCKED", "execute_command", args{"session": s, "command": "git reset -q --hard"})
}

// What the operator lets through is done, and nothing beside it.
func TestGitThatTheOperatorLetsThrough(t *testing.T) {
	t.Parallel()
	dir := gitWorld(t)
	check.Shell(t, dir, "git switch -q feature; echo '{}' > .mcp.json; echo y > docs/y; git add .; git commit -qm config; git switch -q main; git rm -q docs/main.md; git commit -qm gone")
	b, s := start(t, dir).under("INT-001")
	line := args{"session": s, "command": "git merge -q feature"}
	b.answers(b.required("execute_command", line), approval.Once, "")
	r := b.OK("execute_command", line)
	check.That(t, r.Object["exit_code"] == float64(0) && b.read(".mcp.json") == "{}\n", "%s", r.Text)
	check.Equal(t, check.Git(t, dir, "status", "--porcelain"), "", "git status")
	e := b.lastRecord(record.KindCommand)
	check.That(t, len(e.Violations) == 0 && len(e.Changes) == 0, "%+v", e)
	if e := b.lastRecord(record.KindGit); len(e.Detail["commits"].([]any)) != 4 || fmt.Sprint(e.Detail["created"]) != "3" {
		t.Errorf("%+v", e.Detail)
	}
	b.verify()
}
