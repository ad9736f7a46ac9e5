package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// takesForRepository reports whether git, run in a directory of the workspace,
// obeys a configuration that an agent put there.
func takesForRepository(t *testing.T, dir string) bool {
	t.Helper()
	cmd := exec.Command("git", "config", "planted.by")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, _ := cmd.CombinedOutput()
	return strings.Contains(string(out), "agent")
}

// plantings are ways to make a directory one that git takes for a repository, by file tools: lists of calls.
func plantings(dir string, i int, random *rand.Rand) map[string][][]args {
	p := func(name string) string { return dir + "/" + name }
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[planted]\n\tby = agent\n"
	files := map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config, "objects/info/x": "x\n", "refs/heads/x": "x\n"}
	linked := map[string]string{"HEAD": "ref: refs/heads/main\n", "commondir": "../common\n", "config": config}
	write := func(name, content string) args {
		return args{"tool": "write_to_file", "path": p(name), "content": content}
	}
	add := func(name, content string) string {
		return "*** Add File: " + p(name) + "\n+" + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+")
	}
	made := func(name string) string { return "made-" + strings.ReplaceAll(name, "/", "-") }
	move := func(name string) string {
		return "*** Update File: " + p(made(name)) + "\n*** Move to: " + p(name)
	}
	ways := map[string][][]args{}
	order := func(of map[string]string) []string {
		names := []string{}
		for name := range of {
			names = append(names, name)
		}
		slices.Sort(names)
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return names
	}
	of := files
	if i%2 == 1 {
		of = linked
	}
	var calls, before, redirected []args
	var sections, moves, paths []string
	for _, name := range order(of) {
		calls = append(calls, write(name, of[name]))
		sections = append(sections, add(name, of[name]))
		moves, before = append(moves, move(name)), append(before, write(made(name), of[name]))
		redirected = append(redirected, args{"tool": "execute_command", "command": fmt.Sprintf("mkdir -p '%s'; printf '%s' > '%s'", filepath.Dir(p(name)), strings.ReplaceAll(of[name], "\n", `\n`), p(name))})
		paths = append(paths, name)
	}
	half := 1 + random.IntN(len(sections)-1)
	shape := fmt.Sprint(paths)
	ways[shape+" one by one"] = [][]args{calls}
	ways[shape+" in one patch"] = [][]args{{{"tool": "apply_patch", "patch": patch(sections...)}}}
	ways[shape+" in two patches"] = [][]args{{{"tool": "apply_patch", "patch": patch(sections[:half]...)}, {"tool": "apply_patch", "patch": patch(sections[half:]...)}}}
	ways[shape+" by moves"] = [][]args{append(before, args{"tool": "apply_patch", "patch": patch(moves...)})}
	ways[shape+" by redirections"] = [][]args{redirected}
	var beside [][]args
	for _, call := range calls {
		beside = append(beside, []args{call})
	}
	ways[shape+" at the same time"] = beside
	return ways
}

// makes carries calls out, lists of them beside each other.
func (b *bench) makes(lists [][]args) {
	var all sync.WaitGroup
	for _, calls := range lists {
		all.Go(func() {
			for _, call := range calls {
				rest := args{}
				for key, value := range call {
					if key != "tool" {
						rest[key] = value
					}
				}
				b.call(call["tool"].(string), rest)
			}
		})
	}
	all.Wait()
}

// No order of calls to file tools makes a directory that git takes for a repository without asking.
func TestFileToolsMakeNoRepository(t *testing.T) {
	t.Parallel()
	many := check.Rounds(2, 60)
	b, _ := start(t, newWorkspace(t), unsandboxed, withoutSandbox).under("INT-005")
	made, through := 0, 0
	for i := range many {
		for _, kind := range []string{"there", "new", "link"} {
			dir := fmt.Sprintf("src/%s-%d", kind, i)
			for name := range plantings(dir, i, rand.New(rand.NewPCG(1, uint64(i)))) {
				// Each in a place of its own: what a session has seen it may not make again.
				at := fmt.Sprintf("%s/%d", dir, made)
				place := filepath.Join(b.dir, at)
				switch kind {
				case "there":
					check.Write(t, place, "a.txt", "one\n")
				case "link":
					check.Write(t, place+"-real", "a.txt", "one\n")
					link(t, filepath.Base(at)+"-real", place)
				}
				check.Write(t, filepath.Dir(place), "common/objects/x", "x\n")
				check.Write(t, filepath.Dir(place), "common/refs/x", "x\n")
				check.Write(t, filepath.Dir(place), "common/config", "[planted]\n\tby = agent\n")
				b.makes(plantings(at, i, rand.New(rand.NewPCG(1, uint64(i))))[name])
				made++
				if _, err := os.Stat(place); err == nil && takesForRepository(t, place) {
					through++
					t.Errorf("%s, %s: git takes it for a repository", kind, name)
				}
			}
		}
	}
	t.Logf("%d repositories planted, %d got through", made, through)
}

// What git runs of a repository that is there is program configuration; other files with such names are not.
func TestFilesOfARepositoryInTheScope(t *testing.T) {
	t.Parallel()
	b, _ := start(t, newWorkspace(t)).under("INT-005")
	check.Git(t, b.dir, "init", "-q", "--bare", "--template=", "testdata/repo")
	for _, path := range []string{"testdata/repo/config", "testdata/repo/hooks/post-update", "testdata/repo/info/attributes", "testdata/repo/CONFIG", "testdata/repo/commondir", "testdata/repo/modules/x/config"} {
		b.refused("APPROVAL_REQUIRED", "write_to_file", args{"path": path, "content": "x\n"})
	}
	b.ok("apply_patch", args{"patch": patch("*** Add File: src/hooks/useTime.ts", "+x", "*** Add File: src/config", "+x", "*** Add File: src/refs/a", "+x", "*** Add File: objects/a", "+x",
		"*** Add File: HEAD", "+x", "*** Add File: testdata/repo.expected", "+x", "*** Add File: testdata/repo/notes.txt", "+x")})
	r := b.refused("APPROVAL_REQUIRED", "write_to_file", args{"path": "refs/a", "content": "x\n"})
	check.That(t, strings.Contains(r.Text, "what git takes for a repository (the workspace itself)"), "it does not say why: %s", r.Text)
}

// What git left half done stays usable, and what a git command did to refs of any kind stands in its result.
func TestWhatGitLeftHalfDone(t *testing.T) {
	b, _ := start(t, newWorkspace(t), unsandboxed, withoutSandbox).under("INT-005")
	t.Setenv("GIT_AUTHOR_NAME", "a")
	t.Setenv("GIT_AUTHOR_EMAIL", "a@example.org")
	t.Setenv("GIT_COMMITTER_NAME", "a")
	t.Setenv("GIT_COMMITTER_EMAIL", "a@example.org")
	check.Write(t, b.dir, ".gitignore", ".orchestration/\n")
	for i, text := range []string{"one\n", "two\n", "three\n"} {
		check.Write(t, b.dir, "src/a.txt", text)
		check.Git(t, b.dir, "add", ".")
		check.Git(t, b.dir, "commit", "-qm", fmt.Sprint(i))
	}
	check.Git(t, b.dir, "branch", "-M", "main")
	check.Git(t, b.dir, "branch", "topic", "HEAD~1")
	check.Git(t, b.dir, "switch", "-q", "topic")
	check.Write(t, b.dir, "src/a.txt", "other\n")
	check.Git(t, b.dir, "commit", "-qam", "other")
	check.Git(t, b.dir, "commit", "-q", "--allow-empty", "-m", "more")

	r := b.ok("execute_command", args{"command": "git replace HEAD HEAD~1; git notes add -m x; git replace -d HEAD"})
	check.That(t, strings.Contains(r.Text, ".git/refs/notes/commits"), "the notes are not told of: %s", r.Text)
	if r = b.ok("execute_command", args{"command": "git replace HEAD HEAD~1"}); !strings.Contains(r.Text, ".git/refs/replace/") {
		t.Errorf("the replacement is not told of: %s", r.Text)
	}
	b.ok("execute_command", args{"command": "git replace -d HEAD"})
	check.Shell(t, b.dir, "git rebase main || true") // which a person does: below the level full agents do not
	check.Must(t, b.exists(".git/rebase-merge/git-rebase-todo"), "the rebase does not stop")
	if r = b.call("execute_command", args{"command": "git status -s; echo 'exec id' | tee -a .git/rebase-merge/git-rebase-todo"}); r.Object["error_type"] != "COMMAND_OUT_OF_SCOPE" || !strings.Contains(r.Text, "--continue") {
		t.Errorf("a planted program is not told of: %s", r.Text)
	}
	b.ok("execute_command", args{"command": "sed -i /exec/d .git/rebase-merge/git-rebase-todo; git status -s"})
	check.Shell(t, b.dir, "echo both > src/a.txt; git add src/a.txt; GIT_EDITOR=true git rebase --continue")
	check.That(t, !b.exists(".git/rebase-merge"), "the rebase did not go on")
}
