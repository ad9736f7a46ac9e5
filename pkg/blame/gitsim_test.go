package blame_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// repo is a world whose file stands in a git repository, and whose records are in a real ledger.
type repo struct {
	*world
	t      testing.TB
	dir    string
	root   *os.Root
	ledger *ledger.Ledger
}

func newRepo(t testing.TB, seed uint64) *repo {
	t.Helper()
	r := &repo{world: newWorld(seed), t: t, dir: t.TempDir()}
	check.OK(t, os.MkdirAll(filepath.Join(r.dir, ".orchestration"), 0o755))
	var err error
	r.root, err = os.OpenRoot(r.dir)
	check.OK(t, err)
	r.ledger, err = ledger.Open(r.root, ledger.Options{Clock: func() time.Time { return r.clock }, Durability: ledger.DurabilityOS})
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, r.ledger.Close(context.Background()))
		report, err := verify.Verify(context.Background(), r.root)
		if check.OK(t, err); len(report.Problems) > 0 {
			t.Errorf("the ledger ends with %v", report.Problems)
		}
		r.root.Close()
	})
	r.append = func(record record.Record) {
		_, err := r.ledger.Append(context.Background(), record)
		check.OK(t, err)
	}
	r.git("init", "-q")
	check.OK(t, os.WriteFile(filepath.Join(r.dir, ".git/info/exclude"), []byte(".orchestration\n"), 0o644))
	r.commit()
	return r
}

func (r *repo) try(args ...string) (string, error) {
	args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main",
		"-c", "commit.gpgsign=false", "-c", "core.autocrlf=false", "-c", "gc.auto=0"}, args...)
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	date := strconv.FormatInt(r.clock.Unix(), 10) + " +0000"
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %v: %w\n%s%s", args[8:], err, out.String(), errs.String())
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out := check.Value(r.try(args...))(r.t)
	return out
}

func (r *repo) save() {
	name := filepath.Join(r.dir, filepath.FromSlash(r.path))
	check.OK(r.t, os.MkdirAll(filepath.Dir(name), 0o755))
	check.OK(r.t, os.WriteFile(name, []byte(r.file.String()), 0o644))
}

func (r *repo) commit() {
	r.clock = r.clock.Add(time.Minute)
	r.save()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "work")
}

// edit makes an edit and now and then a commit.
func (r *repo) edit(n int) {
	for range n {
		old := r.path
		r.step()
		if r.path != old {
			check.OK(r.t, os.Remove(filepath.Join(r.dir, filepath.FromSlash(old))))
		}
		if r.save(); r.rand.IntN(3) == 0 {
			r.commit()
		}
	}
}

// rename is git mv by a person.
func (r *repo) rename() {
	next := fmt.Sprintf("src/other%d.go", r.ids)
	r.commit()
	r.git("mv", r.path, next)
	r.path = next
	r.commit()
}

// branch edits on two branches, and joins them by a merge or a rebase.
func (r *repo) branch(n int, rebase bool) {
	r.commit()
	base, path := r.file, r.path
	r.git("checkout", "-q", "-b", "feature")
	r.editInPlace(n)
	theirs := r.file
	r.git("checkout", "-q", "main")
	r.file = base
	r.editInPlace(n)
	joined := r.mergeTruth(r.file, base, theirs)
	r.clock = r.clock.Add(time.Minute)
	if rebase {
		r.git("checkout", "-q", "feature")
		if _, err := r.try("rebase", "-q", "-X", "ours", "main"); err != nil {
			r.git("rebase", "--abort")
			r.git("merge", "-q", "-X", "theirs", "-m", "join", "main")
		}
		r.git("checkout", "-q", "main")
		r.git("merge", "-q", "--ff-only", "feature")
	} else if _, err := r.try("merge", "-q", "-X", "ours", "-m", "join", "feature"); err != nil {
		r.t.Fatal(err)
	}
	r.git("branch", "-q", "-D", "feature")
	r.file, r.path = joined, path
	r.outside(joined) // the same as git's result, but where several conflicts met
	r.commit()
}

// editInPlace edits without renames, so that what the branches do to the file can be joined here.
func (r *repo) editInPlace(n int) {
	for range n {
		owner := intents[r.rand.IntN(len(intents))]
		if r.rand.IntN(100) < 65 {
			r.record(owner, r.change(owner), r.path)
		} else {
			r.outside(r.change(""))
		}
	}
	r.commit()
}

// mergeTruth merges lines that carry their truth with them.
func (r *repo) mergeTruth(ours, base, theirs simFile) simFile {
	dir := r.t.TempDir()
	known := map[string]simLine{}
	for name, f := range map[string]simFile{"ours": ours, "base": base, "theirs": theirs} {
		var b strings.Builder
		for _, l := range f {
			key := fmt.Sprintf("%s\x01%d", l.text, l.id)
			known[key] = l
			b.WriteString(key + "\n")
		}
		check.OK(r.t, os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644))
	}
	out := r.git("merge-file", "-p", "--ours", filepath.Join(dir, "ours"), filepath.Join(dir, "base"), filepath.Join(dir, "theirs"))
	var merged simFile
	for line := range strings.SplitSeq(out, "\n") {
		l, ok := known[line]
		if !ok {
			r.t.Fatalf("the merge made up %q", line)
		}
		merged = append(merged, l)
	}
	return merged
}

// TestSimulationInGit is the simulation with commits, merges, rebases and renames, on a real ledger and repository.
func TestSimulationInGit(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	var git, images figures
	for seed := range runs(3, 60) {
		r := newRepo(t, uint64(1000+seed))
		r.edit(10)
		r.branch(4, seed%2 == 0)
		r.rename()
		r.edit(9)
		r.branch(3, seed%2 == 1)
		r.edit(7)
		for _, known := range []struct {
			images blame.Contents
			*figures
		}{{nil, &git}, {r.contents("all"), &images}} {
			w := blame.Workspace{Root: r.root, Ledger: r.ledger, Images: known.images}
			result := check.Value(w.File(context.Background(), r.path))(t)
			known.addLines(t, result.Lines, r.file)
		}
	}
	t.Logf("contents from git alone:        %v", &git)
	t.Logf("contents from git and of undo:  %v", &images)
	if git.precision() < wantPrecision || images.precision() < wantPrecision {
		t.Errorf("precision is below %v", wantPrecision)
	}
	if images.recall() < wantRecall {
		t.Errorf("recall %.4f is below %v", images.recall(), wantRecall)
	}
}
