package review_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// A line that one commit of the range adds and a later one drops is missed, though neither the base nor HEAD has it; so is
// one of the base that a merge does not take over. A line that comes back is not.
func TestDroppedWithinTheRange(t *testing.T) {
	r := newRepo(t, "")
	const name = ".orchestration/agent_trace.jsonl"
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.commit("one")
	one, _ := r.read(name)
	r.traced("INT-001", "src/a.txt", lines(3, 20))
	r.commit("two")
	two, _ := r.read(name)
	r.write(name, one)
	r.commit("dropped")
	want(t, r.review(review.Options{}), review.Error, "ledger "+name+" dropped_line: … (line 2 there)")
	r.write(name, two)
	r.commit("back")
	want(t, r.review(review.Options{}), review.Error)

	r.git("switch", "-q", "main")
	check.OK(t, r.ledger.Close(context.Background()))
	r.openLedger()
	r.traced("INT-002", "docs/manual.txt", "manual\nfrom main\n")
	r.commit("main goes on")
	r.git("switch", "-q", "work")
	r.git("merge", "-q", "--no-edit", "main")
	want(t, r.review(review.Options{}), review.Error)
	r.write(name, two)
	r.git("add", "-A")
	r.git("commit", "-q", "--amend", "--no-edit")
	want(t, r.review(review.Options{}), review.Error, "ledger "+name+" dropped_line")
}

// A rotation in the range moves lines of the base into an archive, which is no loss; to remove that is.
func TestRotationInTheRange(t *testing.T) {
	r := newRepo(t, "")
	for i := range 10 {
		r.traced("INT-001", "src/a.txt", lines(2+i%2, 20))
	}
	r.commit("ten records")
	r.git("switch", "-qc", "work")
	check.OK(t, r.ledger.Close(context.Background()))
	r.openLedgerOf(4096)
	check.OK(t, r.ledger.Rotate(context.Background()))
	check.OK(t, r.ledger.Close(context.Background()))
	r.openLedger()
	r.traced("INT-001", "src/a.txt", lines(5, 20))
	r.traced("INT-001", "src/a.txt", lines(6, 20))
	r.commit("rotated")
	archives, err := filepath.Glob(filepath.Join(r.dir, ".orchestration/archive/*"))
	if check.OK(t, err); len(archives) == 0 {
		t.Fatal("nothing was rotated")
	}
	report := r.review(review.Options{MinTraced: 100})
	want(t, report, review.Error)
	check.That(t, report.Records == 2, "%d records", report.Records)
	r.git("rm", "-q", "--cached", "-r", ".orchestration/archive")
	r.git("commit", "-qm", "archive removed")
	got := strings.Join(found(r.review(review.Options{}), review.Error), "\n")
	check.That(t, strings.Contains(got, "dropped_line"), "a removed archive: %s", got)
}

// A gate that had nothing to judge, or whose ledger is gone, does not pass.
func TestNothingToJudge(t *testing.T) {
	r := newWork(t)
	r.write("src/x", "x\n")
	r.commit("by hand")
	report := r.review(review.Options{})
	if !report.Passed || !strings.Contains(strings.Join(report.Unproven, "\n"), "has no ledger record") {
		t.Errorf("nothing recorded yet: %+v", report)
	}
	r.write("src/x", "y\n")
	r.commit("edit\n\nOrchestra-Intent: INT-001")
	want(t, r.review(review.Options{}), review.Error, "lost_ledger: … names the intent of recorded changes")

	none := newRepo(t, "")
	none.git("rm", "-q", "-r", "--cached", ".orchestration")
	none.git("commit", "-q", "-m", "not governed")
	none.git("switch", "-qc", "work")
	none.git("commit", "-q", "--allow-empty", "-m", "more")
	_, err := review.Run(t.Context(), none.root, review.Options{Base: "main"})
	check.That(t, errors.Is(err, review.ErrNotGoverned), "a repository without .orchestration: %v", err)
}

// Without git there is nothing to judge. What else cannot be judged are shapes.
func TestCannotBeJudged(t *testing.T) {
	none := check.Value(os.OpenRoot(t.TempDir()))(t)
	defer none.Close()
	check.Fails(review.Run(t.Context(), none, review.Options{Base: "HEAD"}))(t, review.ErrNoRepository)
}

// A judge that knows one rule: who says "refactor" in the text keeps what it does.
func honestJudge(_ context.Context, files []mutation.File) mutation.Verdict {
	for _, f := range files {
		if !strings.Contains(string(f.After), "refactor") {
			return mutation.Verdict{Evidence: mutation.Unproven, Reason: "it does something else"}
		}
	}
	return mutation.Verdict{Evidence: mutation.Proven}
}

func claimed(rec *record.Record) {
	rec.MutationClass = "AST_REFACTOR"
	rec.Class = &record.Class{Declared: "AST_REFACTOR", Computed: "AST_REFACTOR", Evidence: "proven"}
}

func TestClassClaims(t *testing.T) {
	for _, c := range []struct {
		name     string
		contents []string
		errors   []string
		evidence mutation.Evidence
	}{
		{"true", []string{"refactor one\n"}, nil, mutation.Proven},
		{"false", []string{"evil\n"}, []string{`class src/a.txt "src/a.txt" is claimed to be a refactor: it does something else`}, mutation.Unproven},
		{"false, over a content that git does not have", []string{"refactor 1\n", "evil\n"},
			[]string{"all records that changed these files claim so, and the change from the merge base to HEAD is none"}, mutation.Unproven},
		{"true, over a content that git does not have", []string{"refactor 1\n", "refactor 2\n"}, nil, mutation.Proven},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newWork(t)
			for _, content := range c.contents {
				r.traced("INT-001", "src/a.txt", content, claimed)
			}
			r.commit("claims")
			report := r.review(review.Options{Judge: honestJudge})
			want(t, report, review.Error, c.errors...)
			got := file(t, report, "src/a.txt").Evidence
			check.That(t, got == c.evidence, "evidence %s", got)
			unsupported := r.review(review.Options{Judge: func(context.Context, []mutation.File) mutation.Verdict {
				return mutation.Verdict{Evidence: mutation.Unsupported}
			}})
			want(t, unsupported, review.Error)
			if !strings.Contains(strings.Join(unsupported.Unproven, "\n"), "claim a refactor that could not be checked again") {
				t.Errorf("%q", unsupported.Unproven)
			}
		})
	}
}

// An evolution on the same file means that the sum says nothing about the claims.
func TestClassClaimsBesideAnEvolution(t *testing.T) {
	r := newWork(t)
	r.traced("INT-001", "src/a.txt", "refactor 1\n", claimed)
	r.traced("INT-001", "src/a.txt", "evolved\n")
	r.commit("both")
	want(t, r.review(review.Options{Judge: honestJudge}), review.Error)
}

func TestViolationsAndForeignLines(t *testing.T) {
	r := newWork(t)
	r.append(record.Record{Kind: record.KindCommand, IntentID: "INT-001", Command: &record.Command{Command: "make"}, Violations: []record.Violation{
		{Path: "docs/x.txt", Op: change.Created}, {Path: "docs/y.txt", Op: change.Created, Reverted: true},
	}})
	content, _ := r.read(".orchestration/agent_trace.jsonl")
	r.write(".orchestration/agent_trace.jsonl", content+`{"version":"0.1.0","files":[{"path":"src/a.txt"}]}`+"\n")
	r.commit("violations")
	report := r.review(review.Options{})
	want(t, report, review.Warning, `violation .orchestration/agent_trace.jsonl:1 a command left the scope of INT-001: "docs/x.txt" created`)
	want(t, report, review.Note, "which was undone")
	check.That(t, report.Foreign == 1 && report.Records == 1, "%d foreign, %d records", report.Foreign, report.Records)
}

// A renaming in C is judged again with the macros of its headers at HEAD, or as they were before the range.
func TestClassClaimAmongHeaders(t *testing.T) {
	const harmless, uses = "#define TWICE(x) ((x) * 2)\n", "#define TWICE(x) (count * 2)\n"
	for _, c := range []struct {
		name, before, head string
		errors             []string
	}{
		{"nothing uses the name", harmless, harmless, nil},
		{"nothing used it", harmless, uses, nil},
		{"a macro uses the name", uses, uses, []string{`class src/a.c "src/a.c" is claimed to be a refactor: src/a.c:3: `}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t, "")
			source := "#include \"a.h\"\n\nint twice(int count) { return TWICE(count); }\n"
			r.write("src/a.c", source)
			r.write("src/a.h", c.before)
			r.commit("base")
			r.git("switch", "-qc", "work")
			r.traced("INT-001", "src/a.c", strings.ReplaceAll(source, "count", "size"), claimed)
			if c.before != c.head {
				r.traced("INT-001", "src/a.h", c.head)
			}
			r.commit("claims")
			want(t, r.review(review.Options{}), review.Error, c.errors...)
		})
	}
}
