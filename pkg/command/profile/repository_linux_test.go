package profile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// linkedTree makes a repository with a linked work tree and a second one beside it; bare ones have no main work tree.
func linkedTree(t *testing.T, bare bool) (common, tree, other string) {
	t.Helper()
	top, _ := cloned(t, 3)
	base := filepath.Dir(top)
	common = filepath.Join(top, ".git")
	if bare {
		common = filepath.Join(base, "store")
		git(t, base, "clone", "-q", "--bare", top, common)
		top = common
	}
	tree, other = filepath.Join(base, "tree"), filepath.Join(base, "other")
	git(t, top, "worktree", "add", "-q", "-b", "work", tree)
	git(t, top, "worktree", "add", "-q", "-b", "more", other)
	return common, tree, other
}

// in runs command lines at level full in a work tree.
func in(t *testing.T, tree string) *shell {
	t.Helper()
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	return newShell(t, tree, environment(t.TempDir()), profile.Request{Level: sandbox.Full, Scope: []string{"src/**"}, Dir: "."})
}

// stateOf is what the other work trees, and whoever git obeys, have in the shared directory.
func stateOf(t *testing.T, common string) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, pattern := range []string{"HEAD", "index", "logs/HEAD", "config", "config.worktree", "commondir", "hooks/*", "modules", "info/attributes",
		"MERGE_HEAD", "worktrees/other/*", "worktrees/other/logs/HEAD", "worktrees/tree/gitdir", "worktrees/tree/commondir", "worktrees/tree/config.worktree"} {
		paths := check.Value(filepath.Glob(filepath.Join(common, pattern)))(t)
		for _, path := range paths {
			content, _ := os.ReadFile(path)
			state[path] = string(content)
		}
	}
	return state
}

// TestLinkedWorkTree: an ordinary day of git works in a linked work tree as it
// does in a plain clone; hooks, configuration and the other work trees stay.
func TestLinkedWorkTree(t *testing.T) {
	for name, bare := range map[string]bool{"of a clone": false, "of a bare one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			common, tree, other := linkedTree(t, bare)
			before := stateOf(t, common)
			s := in(t, tree)
			s.passes("echo new > src/new && git add src && git commit -qm two && git status --short --branch && git log --oneline")
			s.passes("git switch -qc topic HEAD~1 && echo t > src/t && git add src && git commit -qm three && git rebase -q work")
			s.passes("git switch -q work && git merge -q --no-ff -m merged topic && git branch -d topic && git tag v1 && git tag -d v1 && git pack-refs --all")
			s.passes("echo s >> src/new && git stash -q && git stash pop -q && git commit -qam four && git reset -q --hard HEAD~1 && git reflog | grep -q four")
			s.passes("! git merge -q more~0 --no-commit --no-ff || git merge --abort; git cherry-pick -q HEAD~1 || git cherry-pick --abort; git gc -q --prune=now || true")
			for _, line := range []string{
				"git config user.name x", "git config --worktree user.name x", "git worktree add ../w", "git worktree remove --force " + other,
				"git status; echo x > COMMON/hooks/pre-commit", "git status; echo x > COMMON/HEAD", "git status; echo x > COMMON/config.worktree",
				"git status; echo x > COMMON/commondir", "git status; echo x > COMMON/worktrees/other/HEAD", "git status; rm -f COMMON/worktrees/other/index",
				"git -C " + other + " switch -qc away", "git status; echo x > COMMON/worktrees/tree/gitdir", "git status; echo .. > COMMON/worktrees/tree/commondir",
				"git status; mv COMMON/worktrees/tree COMMON/worktrees/gone", "git status; mv COMMON/worktrees COMMON/w", "git status; mkdir COMMON/modules/x",
				"git status; echo x > COMMON/info/attributes", "git status; echo x > COMMON/objects/info/alternates", "git status; echo x > " + other + "/src/x",
				"git status; echo x > .git",
			} {
				s.fails(strings.ReplaceAll(line, "COMMON", common))
			}
			r := s.run("echo x > "+common+"/x", profile.GitClosed)
			check.That(t, r.ExitCode != 0, "the shared directory was written without a git command")
			after := stateOf(t, common)
			for path, content := range before {
				check.Equal(t, after[path], content, "%v", path)
			}
			for path := range after {
				_, was := before[path]
				check.That(t, was, "%s is new", path)
			}
			git(t, tree, "fsck", "--strict", "--no-dangling")
			check.Equal(t, git(t, other, "status", "--short"), "")
			log := git(t, tree, "log", "--format=%s", "work")
			check.That(t, strings.Contains(log, "merged") && strings.Contains(log, "three"), "the branch has %q", log)
		})
	}
}

// TestPointersThatStayClosed: what a file of the workspace says does not open a directory that does not say the same.
func TestPointersThatStayClosed(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, common, tree string){
		"relative pointers are as good": func(t *testing.T, _, tree string) {
			check.OK(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: ../ws/.git/worktrees/tree\n"), 0o644))
			check.OK(t, os.WriteFile(filepath.Join(tree, "../ws/.git/worktrees/tree/gitdir"), []byte("../../../../tree/.git\n"), 0o644))
		},
		"another's": func(t *testing.T, common, tree string) {
			check.OK(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+common+"/worktrees/other\n"), 0o644))
		},
		"the repository": func(t *testing.T, common, tree string) {
			check.OK(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+common+"\n"), 0o644))
		},
		"another repository": func(t *testing.T, common, tree string) {
			check.OK(t, os.WriteFile(filepath.Join(common, "worktrees/tree/commondir"), []byte("../../../../clone/.git\n"), 0o644))
		},
		"moved": func(t *testing.T, common, _ string) {
			check.OK(t, os.WriteFile(filepath.Join(common, "worktrees/tree/gitdir"), []byte("/nowhere/.git\n"), 0o644))
		},
		"a link where hooks are": func(t *testing.T, common, _ string) {
			check.OK(t, os.RemoveAll(filepath.Join(common, "hooks")))
			check.OK(t, os.Symlink(t.TempDir(), filepath.Join(common, "hooks")))
		},
		"branches in one table": func(t *testing.T, common, _ string) {
			check.OK(t, os.Mkdir(filepath.Join(common, "reftable"), 0o755))
		},
		"a submodule": func(t *testing.T, common, tree string) {
			check.OK(t, os.MkdirAll(filepath.Join(common, "modules/sub"), 0o755))
			check.OK(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+common+"/modules/sub\n"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			common, tree, _ := linkedTree(t, false)
			change(t, common, tree)
			for _, git := range []profile.Git{profile.GitOpen, profile.GitTrusted} {
				r := made(t, tree, profile.Request{Level: sandbox.Full, Git: git})
				open := r.CanWrite(filepath.Join(common, "objects/x")) || r.CanWrite(filepath.Join(common, "worktrees/tree/index"))
				told := strings.Contains(strings.Join(r.Warnings, "\n"), "cannot write .git")
				good := strings.HasSuffix(name, "as good")
				check.That(t, open == good && told != good, "open %v, told %v: %q", open, told, r.Warnings)
				check.OK(t, r.Close())
			}
		})
	}
}

// TestWorkTreeInItsGitDirectory: what may be written there is not told apart.
func TestWorkTreeInItsGitDirectory(t *testing.T) {
	top, _ := cloned(t, 1)
	store := filepath.Join(filepath.Dir(top), "store")
	git(t, top, "clone", "-q", "--bare", top, store)
	git(t, store, "worktree", "add", "-q", "-b", "work", filepath.Join(store, "work"))
	r := made(t, filepath.Join(store, "work"), profile.Request{Level: sandbox.Full, Git: profile.GitOpen, Scope: []string{"src/**"}})
	if r.CanWrite(filepath.Join(store, "work", "out")) || r.CanWrite(filepath.Join(store, "objects/x")) || len(r.Warnings) == 0 {
		t.Errorf("%v %q", r.Sandbox.Writable, r.Warnings)
	}
}
