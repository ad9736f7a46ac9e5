package history_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
)

// fork has two records on a branch, and one on main.
func (r *repository) fork() {
	r.git("switch", "-q", "-c", "feature")
	r.record("f1", "f2")
	r.git("switch", "-q", "main")
	r.record("m1")
}

// histories says how many lines each way of working drops.
var histories = map[string]struct {
	does    func(r *repository)
	dropped int
}{
	"appends": {func(r *repository) { r.record("b", "c") }, 0},
	"a merge of two branches": {func(r *repository) {
		r.fork()
		r.git("merge", "-q", "-m", "merge", "feature")
		r.record("joined")
	}, 0},
	"a merge that takes one side only": {func(r *repository) { r.fork(); r.git("merge", "-q", "-s", "ours", "-m", "merge", "feature") }, 2},
	"a merge resolved by hand without a line": {func(r *repository) {
		r.fork()
		r.git("merge", "-q", "--no-commit", "feature")
		r.write(r.segment(), strings.Join(slices.DeleteFunc(r.lines(), func(l string) bool { return strings.Contains(l, `"f1"`) }), ""))
		r.commit("merge")
	}, 1},
	"an octopus merge": {func(r *repository) {
		for _, name := range []string{"x", "y", "z"} {
			r.git("switch", "-q", "-c", name, "main")
			r.write(name, name)
			r.commit(name)
		}
		r.record("z1")
		r.git("switch", "-q", "main")
		r.git("merge", "-q", "-m", "octopus", "x", "y", "z")
	}, 0},
	"a revert that drops lines": {func(r *repository) { r.record("b"); r.git("revert", "--no-edit", "HEAD") }, 1},
	"a revert, and the lines put back": {func(r *repository) {
		r.record("b", "c")
		whole := r.read(r.segment())
		r.git("revert", "--no-edit", "HEAD")
		r.write(r.segment(), whole)
		r.commit("restored")
	}, 0},
	"a revert, and the lines put back without a commit": {func(r *repository) {
		r.record("b")
		whole := r.read(r.segment())
		r.git("revert", "--no-edit", "HEAD")
		r.write(r.segment(), whole)
	}, 0},
	"a rebase": {func(r *repository) { r.fork(); r.git("rebase", "-q", "main", "feature") }, 0},
	"a squash": {func(r *repository) {
		r.fork()
		r.git("merge", "-q", "--squash", "feature")
		r.commit("squashed")
	}, 0},
	"lines in another order": {func(r *repository) {
		r.record("b", "c")
		lines := r.lines()
		lines = lines[:len(lines)-1]
		slices.Reverse(lines)
		r.write(r.segment(), strings.Join(lines, ""))
		r.commit("turned")
	}, 0},
	"lines moved to the other layout": {func(r *repository) {
		r.record("b", "c")
		r.write(".orchestration/trace/00000000-0000-4000-8000-000000000000.jsonl", r.read(r.segment()))
		check.OK(r.t, os.Remove(filepath.Join(r.dir, r.segment())))
		r.commit("moved")
	}, 0},
	"converted line endings": {func(r *repository) {
		r.write(r.segment(), strings.ReplaceAll(r.read(r.segment()), "\n", "\r\n"))
		r.commit("converted")
	}, 0},
	"an edited line": {func(r *repository) {
		r.record("b")
		r.write(r.segment(), strings.Replace(r.read(r.segment()), `"call":"b"`, `"call":"x"`, 1))
		r.commit("edited")
	}, 1},
	"a truncation with new records behind it": {func(r *repository) {
		r.record("b", "c")
		r.write(r.segment(), r.lines()[0])
		r.record("d")
	}, 2},
	"the ledger removed": {func(r *repository) { r.git("rm", "-q", "-r", ".orchestration"); r.commit("removed") }, 1},
	"a link in place of the ledger": {func(r *repository) {
		check.OK(r.t, os.Rename(filepath.Join(r.dir, r.segment()), filepath.Join(r.dir, "away")))
		check.OK(r.t, os.Symlink("../away", filepath.Join(r.dir, r.segment())))
		r.commit("linked")
	}, 1},
	"an unfinished line at the end": {func(r *repository) {
		r.write(r.segment(), r.read(r.segment())+`{"prev":[`)
		r.commit("torn")
		r.write(r.segment(), strings.TrimSuffix(r.read(r.segment()), `{"prev":[`))
		r.commit("mended")
	}, 0},
	"conflict markers cleaned away": {func(r *repository) {
		whole := r.read(r.segment())
		r.write(r.segment(), "<<<<<<< HEAD\n"+whole+"=======\n>>>>>>> x\n")
		r.commit("conflict")
		r.write(r.segment(), whole)
		r.commit("clean")
	}, 0},
	"no last newline, then more": {func(r *repository) {
		r.write(r.segment(), strings.TrimSuffix(r.read(r.segment()), "\n"))
		r.commit("cut")
		r.record("b")
	}, 0},
	"a committed line that the work tree lacks": {func(r *repository) { r.record("b"); r.write(r.segment(), r.lines()[0]) }, 1},
	"lines hidden by a replacement": {func(r *repository) {
		r.record("b")
		r.write(r.segment(), r.lines()[0])
		r.commit("dropped")
		r.git("replace", "HEAD~1", "HEAD~2")
	}, 1},
	"a commit without the drop's parent in the graft file": {func(r *repository) {
		r.record("b")
		r.write(r.segment(), r.lines()[0])
		r.commit("dropped")
		top := r.git("rev-parse", "--show-toplevel")
		check.OK(r.t, os.WriteFile(filepath.Join(top, ".git", "info", "grafts"), []byte(r.git("rev-parse", "HEAD")+" "+r.git("rev-parse", "HEAD~2")+"\n"), 0o644))
	}, 1},
}

// briefly are the histories that run in the second layout too without ORCHESTRA_LONG.
var briefly = []string{"a merge of two branches", "a merge that takes one side only", "a revert that drops lines", "lines moved to the other layout"}

func TestDroppedLines(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		for name, h := range histories {
			if layout == ledger.LayoutSessions && !check.Long() && !slices.Contains(briefly, name) {
				continue
			}
			t.Run(string(layout)+"/"+name, func(t *testing.T) {
				r := newRepository(t, layout, "")
				r.record("a")
				h.does(r)
				report := r.verify()
				check.Equal(t, len(report.Problems), h.dropped, "dropped lines")
				for _, p := range report.Problems {
					check.That(t, p.Kind == history.ProblemDropped && p.Line != 0 && len(p.Record) == 64, "problem %+v", p)
				}
			})
		}
	}
}

// What no commit of the history has cannot be missed: pkg/ledger/seal/README.md names this.
func TestNotDetectedARebaseThatDropsTheLastCommit(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.record("a", "b")
	r.git("reset", "-q", "--hard", "HEAD~1")
	report := r.verify()
	check.That(t, len(report.Problems) == 0, "it is detected now: %+v; say so in the documentation", report.Problems)
}

func TestTheWorkspaceBelowTheTopOfTheRepository(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "sub dir/ö")
	r.record("a", "b")
	r.git("revert", "--no-edit", "HEAD")
	report := r.verify()
	check.That(t, len(report.Problems) == 1 && report.Commits == 3, "%+v", report)
}

// A commit that takes back exactly what another one did is a revert; one that only says so, or takes back records alone, is not.
func TestReverts(t *testing.T) {
	for name, c := range map[string]struct {
		does func(r *repository)
		want ledger.ProblemKind
	}{
		"a revert":      {func(r *repository) { r.git("revert", "--no-edit", "HEAD") }, history.ProblemReverted},
		"records alone": {func(r *repository) { r.record("more"); r.git("revert", "--no-edit", "HEAD") }, history.ProblemDropped},
		"the change stays": {func(r *repository) {
			r.git("revert", "--no-commit", "HEAD")
			r.git("checkout", "HEAD", "--", "src")
			r.git("commit", "-q", "-am", "Revert\n\nThis reverts commit "+r.git("rev-parse", "HEAD")+".")
		}, history.ProblemDropped},
		"no message": {func(r *repository) {
			r.git("revert", "--no-commit", "HEAD")
			r.git("commit", "-q", "-am", "gone")
		}, history.ProblemDropped},
		"of another history": {func(r *repository) { // with a parent that has the change and lacks the records
			did := r.git("rev-parse", "HEAD")
			r.git("switch", "-q", "--orphan", "other")
			r.git("checkout", did, "--", ".")
			r.commit("all at once")
			r.git("revert", "--no-edit", did)
		}, history.ProblemDropped},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, ledger.LayoutSingle, "")
			r.record("a")
			r.write("src/a.txt", "done\n")
			r.record("b")
			c.does(r)
			report := r.verify()
			check.That(t, len(report.Problems) == 1 && report.Problems[0].Kind == c.want, "%+v, want %s", report.Problems, c.want)
		})
	}
}

func TestBaseLimitsTheRange(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.record("a", "b")
	r.git("revert", "--no-edit", "HEAD")
	r.git("tag", "base")
	r.record("c")
	verify := func(base string) (history.Report, error) {
		return history.Verify(context.Background(), r.root, history.Options{Base: base})
	}
	report, err := verify("base")
	check.OK(t, err)
	check.That(t, report.Commits == 1 && len(report.Problems) == 0, "from base: %+v", report)
	if report, err = verify("base~1"); err != nil || report.Commits != 2 || len(report.Problems) != 1 {
		t.Errorf("from before the revert: %v %+v", err, report)
	}
	for _, bad := range []string{"nothing", "--all", "-x"} {
		if _, err := verify(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("base %s: %v", bad, err)
		}
	}
}

func TestSealsDroppedFromCommits(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.record("a")
	r.write(".orchestration/seals/1.note", "one\n")
	r.write(".orchestration/seals/2.note", "two\n")
	r.commit("sealed")
	if report := r.verify(); len(report.Problems) != 0 {
		t.Fatalf("%+v", report)
	}
	r.write(".orchestration/seals/1.note", "changed\n")
	r.git("rm", "-q", ".orchestration/seals/2.note")
	r.commit("unsealed")
	report := r.verify()
	if len(report.Problems) != 2 || report.Problems[0].Kind != history.ProblemDroppedSeal || report.Problems[1].Segment != "seals/2.note" {
		t.Errorf("%+v", report.Problems)
	}
	r.git("checkout", "HEAD~1", "--", ".orchestration/seals")
	if report := r.verify(); len(report.Problems) != 0 {
		t.Errorf("put back: %+v", report.Problems)
	}
}

func TestShallowAndPartialClones(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.record("a", "b", "c")
	r.git("config", "uploadpack.allowFilter", "true")
	open := func(args ...string) *os.Root {
		dir := filepath.Join(t.TempDir(), "clone")
		r.git(append(append([]string{"clone", "-q"}, args...), "file://"+filepath.ToSlash(r.dir), dir)...)
		root := check.Value(os.OpenRoot(dir))(t)
		t.Cleanup(func() { root.Close() })
		return root
	}
	report := check.Value(history.Verify(context.Background(), open("--depth=2"), history.Options{}))(t)
	if report.Commits != 2 || len(report.Problems) != 0 || !strings.Contains(strings.Join(report.Unproven, ""), "shallow") {
		t.Errorf("shallow: %+v", report)
	}
	for _, filter := range []string{"blob:none", "tree:0"} {
		if report, err := history.Verify(context.Background(), open("--filter="+filter), history.Options{}); err == nil {
			t.Errorf("%s: what is not at hand passes: %+v", filter, report)
		}
	}
}

func TestWithoutAHistory(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	verify := func(root *os.Root) error {
		_, err := history.Verify(context.Background(), root, history.Options{})
		return err
	}
	check.Is(t, verify(r.root), history.ErrNoHistory, "no commit")
	outside := check.Value(os.OpenRoot(t.TempDir()))(t)
	defer outside.Close()
	check.Is(t, verify(outside), history.ErrNoHistory, "no repository")
	r.write("x", "")
	r.git("add", "x")
	r.git("commit", "-q", "-m", "no ledger")
	report := r.verify()
	check.That(t, len(report.Unproven) == 1 && strings.Contains(report.Unproven[0], "has no ledger"), "%+v", report)
	t.Setenv("PATH", t.TempDir())
	if err := verify(r.root); !errors.Is(err, history.ErrNoHistory) || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("no git: %v", err)
	}
}

func TestNothingOfTheRepositorySteersGit(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.record("a", "b")
	trap := filepath.Join(t.TempDir(), "trap")
	check.OK(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch "+trap+".sprung\n"), 0o755))
	for _, key := range []string{"core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "filter.x.smudge", "filter.x.clean", "diff.x.textconv", "alias.rev-list"} {
		r.git("config", key, trap)
	}
	r.write(".git/info/attributes", "* filter=x diff=x\n")
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	report := r.verify()
	check.That(t, report.Commits == 2 && len(report.Problems) == 0, "%+v", report)
	_, err := os.Stat(trap + ".sprung")
	check.That(t, err != nil, "a program that the repository names was run")
}
