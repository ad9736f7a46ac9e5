package review_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

func file(t *testing.T, report *review.Report, path string) review.File {
	t.Helper()
	i := slices.IndexFunc(report.Files, func(f review.File) bool { return f.Path == path })
	if i < 0 {
		t.Fatalf("no file %s in %+v", path, report.Files)
	}
	return report.Files[i]
}

func TestTracedWorkPasses(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(1, 10)+"new\n"+lines(11, 19))
	r.traced("INT-001", "src/b.txt", "one\ntwo\n")
	r.commit("first")
	r.traced("INT-001", "src/b.txt", "one\nthree\n")
	r.traced("INT-002", "docs/manual.txt", "")
	r.commit("second")
	report := r.review(review.Options{MinTraced: 100})
	want(t, report, review.Error)
	want(t, report, review.Warning)
	want(t, report, review.Note)
	if !report.Passed || report.Percent != 100 || report.Lines != (review.Lines{Added: 3, Removed: 2, Traced: 5}) {
		t.Errorf("passed %v, %v%%, %+v", report.Passed, report.Percent, report.Lines)
	}
	if report.Commits != 2 || report.Records != 4 || len(report.Intents) != 2 || report.Intents[0].Paths != 2 || report.Intents[0].Lines != 3 {
		t.Errorf("%d commits, %d records, %+v", report.Commits, report.Records, report.Intents)
	}
	if again := r.review(review.Options{MinTraced: 100}); !reflect.DeepEqual(again, report) {
		t.Errorf("a second run says something else: %+v", again)
	}
}

// What is in the work tree does not count: only commits do.
func TestWorkTreeDoesNotCount(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.traced("INT-002", "src/a.txt", lines(3, 20))
	r.commit("out of scope")
	head := r.git("rev-parse", "HEAD")
	before := r.review(review.Options{Head: head})
	want(t, before, review.Error, `scope src/a.txt "src/a.txt" is not in the scope of INT-002`)
	r.git("switch", "-q", "main")
	r.write(intentsPath, strings.ReplaceAll(baseIntents, "docs/**", "**"))
	r.write("src/a.txt", "something else\n")
	if after := r.review(review.Options{Head: head}); !reflect.DeepEqual(after, before) {
		t.Errorf("the work tree changed the report: %+v", after)
	}
}

func TestUntracedLinesAreListed(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(1, 20)+"by the agent\nalso by the agent\n")
	// Somebody else takes three lines away, adds two, and puts a file of his own.
	r.write("src/a.txt", "by hand first\n"+lines(1, 10)+lines(14, 20)+"by the agent\nalso by the agent\nby hand last\n")
	r.write("src/hand.txt", "by hand\n")
	must(t, os.Remove(filepath.Join(r.dir, "docs/manual.txt")))
	r.commit("mixed")
	report := r.review(review.Options{})
	want(t, report, review.Error)
	want(t, report, review.Note, "untraced docs/manual.txt no record explains why 1 lines are gone", "src/a.txt … why 3 lines",
		"src/a.txt:1 ", "src/a.txt:21 ", "src/hand.txt:1 ")
	if report.Lines != (review.Lines{Added: 5, Removed: 4, Traced: 2}) {
		t.Errorf("%+v", report.Lines)
	}
	if !report.Passed {
		t.Error("untraced lines fail a gate that asks for none")
	}
	want(t, r.review(review.Options{MinTraced: 22.3}), review.Error, "untraced docs/manual.txt 22.2% of the changed lines are traced (2 of 9)")
	want(t, r.review(review.Options{MinTraced: 22.2}), review.Error)
}

// A person edits one line of forty, or indents one, between the agent's write and the commit: the others stay the agent's,
// also where only the commit is known.
func TestOneLineByHandHidesNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		touch  func(string) string
		traced int
		marked bool
	}{
		"edited": {func(s string) string { return strings.Replace(s, "number 17\n", "number seventeen\n", 1) }, 39, true},
		"indented": {func(s string) string {
			return strings.Replace(s, "this is line number 17\n", "\tthis is line number 17\n", 1)
		}, 40, true},
		"without marks": {func(s string) string { return strings.Replace(s, "number 17\n", "number seventeen\n", 1) }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t, "")
			r.git("switch", "-qc", "work")
			r.traced("INT-001", "src/b.txt", lines(1, 40), func(rec *ledger.Record) {
				if !c.marked {
					rec.Changes[0].Marks = nil
				}
			})
			r.write("src/b.txt", c.touch(lines(1, 40)))
			r.commit("work")
			for _, depth := range [][]string{nil, {"--depth=2"}} {
				clone := filepath.Join(t.TempDir(), "clone")
				r.git(slices.Concat([]string{"clone", "-q", "--no-single-branch"}, depth, []string{"file://" + r.top, clone})...)
				root, err := os.OpenRoot(clone)
				must(t, err)
				report, err := review.Run(context.Background(), root, review.Options{Base: "origin/main"})
				must(t, err)
				must(t, root.Close())
				if report.Lines != (review.Lines{Added: 40, Traced: c.traced}) {
					t.Errorf("%v: %+v, want %d traced", depth, report.Lines, c.traced)
				}
			}
		})
	}
}

// A line that the base's records wrote explains nothing in the range: who puts an old content back does so unrecorded.
func TestOldRecordsDoNotExplain(t *testing.T) {
	r := newRepo(t, "")
	r.traced("INT-001", "src/a.txt", "insecure\nline\n")
	r.traced("INT-001", "src/a.txt", "secure\nline\n")
	r.commit("mended")
	r.git("switch", "-qc", "work")
	r.write("src/a.txt", "insecure\nline\n")
	r.commit("back again")
	report := r.review(review.Options{MinTraced: 1})
	want(t, report, review.Error, "0.0% of the changed lines are traced (0 of 2)")
}

func TestScopeIsThatOfTheBase(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.write(intentsPath, strings.ReplaceAll(baseIntents, `"docs/**"`, `"docs/**", "src/**"`)+
		"  - {id: INT-009, name: New, status: TODO, owned_scope: [\"new/**\"]}\n")
	r.append(ledger.Record{Kind: ledger.KindLifecycle, IntentID: "INT-009", Call: "propose_intent"})
	r.traced("INT-002", "src/a.txt", lines(2, 20))
	r.traced("INT-009", "new/x.txt", "x\n")
	r.traced("INT-009", "src/b.txt", "out of both\n")
	r.traced("INT-404", "src/c.txt", "unknown\n")
	r.traced("UNTRACKED", "src/d.txt", "none\n")
	r.commit("wider")
	report := r.review(review.Options{})
	want(t, report, review.Error, `scope src/b.txt "src/b.txt" is not in the scope of INT-009, in the base nor in HEAD: in the base it is not declared there`,
		"INT-404 is declared neither", "intent .orchestration/agent_trace.jsonl:6 a record of changes names no intent")
	want(t, report, review.Warning, `scope src/a.txt "src/a.txt" is in the scope of INT-002 in HEAD and not in the base, where owned_scope is "docs/**"`,
		`governance `+intentsPath+`:3 INT-002 was widened in this range: owned_scope has "src/**" more, by an edit of the file that no record tells of`,
		`governance `+intentsPath+`:4 INT-009 was added in this range, for "new/**", and records tell of changes of it`)

	// Narrowed back within the range, nothing declares the change any more.
	r.write(intentsPath, baseIntents)
	r.commit("narrow again")
	report = r.review(review.Options{})
	want(t, report, review.Warning)
	want(t, report, review.Error, `"src/a.txt" is not in the scope of INT-002`, "INT-009 is declared neither", "INT-404", "names no intent")
}

func TestStrictFailsByWarnings(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.write(".intentignore", "unscoped:**\n")
	r.write(".orchestration/config.yaml", "sandbox: off\n")
	r.commit("milder")
	report := r.review(review.Options{})
	want(t, report, review.Warning, "governance .intentignore the ignore rules were added", "config.yaml the settings were added")
	if !report.Passed {
		t.Error("warnings fail without Strict")
	}
	if r.review(review.Options{Strict: true}).Passed {
		t.Error("warnings pass with Strict")
	}
}

func TestWidenedInEveryWay(t *testing.T) {
	r := newRepo(t, "")
	full := "active_intents:\n  - id: INT-001\n    name: n\n    status: DONE\n    owned_scope: [src]\n    verify: [make]\n" +
		"    commands: {allow: [go], ask: [npm], deny: [git push], network: deny}\n    rules: [{name: r, when: 'true'}]\n"
	r.write(intentsPath, full)
	r.commit("full")
	r.git("switch", "-qc", "work")
	r.write(intentsPath, "active_intents:\n  - id: INT-001\n    name: n\n    status: IN_PROGRESS\n    commands: {allow: [go, sh], ask: [git push]}\n")
	r.commit("wide")
	report := r.review(review.Options{})
	want(t, report, review.Warning, `no longer restricted; commands.allow has "sh" more; commands.deny lacks "git push"; commands.ask lacks "npm"; `+
		`the network is no longer denied; the rule "r" was removed or changed; no longer verified by "make"; it was reopened`)
}

func TestIgnoredPathsAndApprovals(t *testing.T) {
	r := newRepo(t, "")
	r.write(".intentignore", "src/secret/\nintent:INT-002\n")
	r.commit("rules")
	r.git("switch", "-qc", "work")
	r.write(".intentignore", "")
	r.traced("INT-001", "src/secret/key.txt", "x\n")
	r.traced("INT-001", "docs/approved.txt", "x\n")
	r.append(ledger.Record{Kind: ledger.KindDecision, IntentID: "INT-001", Decision: &ledger.Decision{Outcome: "approved", Paths: []string{"docs/approved.txt"}}})
	r.append(ledger.Record{Kind: ledger.KindDecision, IntentID: "INT-001", Decision: &ledger.Decision{Outcome: "refused", Paths: []string{"x"}}})
	r.traced("INT-002", "docs/x.txt", "x\n")
	r.commit("work")
	report := r.review(review.Options{})
	want(t, report, review.Error, "src/secret/key.txt … which .intentignore:1 of the base forbids (src/secret/)", "INT-002 may make no calls")
	want(t, report, review.Warning, "docs/approved.txt … an approval is recorded", "governance .intentignore the ignore rules were changed")
	if report.Refused != 1 || report.Approved != 1 || report.Intents[0].Refused != 1 {
		t.Errorf("%d refused, %d approved, %+v", report.Refused, report.Approved, report.Intents)
	}
}

// An agent leaves lessons without an intent, in a file that no scope has. What only calls itself one is judged as all else.
func TestLessonsPass(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	lesson := func(rec *ledger.Record) {
		rec.Kind, rec.Call, rec.Detail = ledger.KindLifecycle, "record_lesson", map[string]any{"lesson": "lesson", "text": "x"}
	}
	r.traced("", ".orchestration/AGENT.md", "# Notes\n", lesson)
	r.commit("a lesson")
	report := r.review(review.Options{})
	want(t, report, review.Error)
	want(t, report, review.Warning)

	r.traced("", "CLAUDE.md", "# Notes\n", lesson)
	r.traced("", ".orchestration/config.yaml", "hooks: []\n", lesson)
	r.traced("INT-001", "lib/x.txt", "x\n", lesson)
	r.commit("others")
	report = r.review(review.Options{})
	want(t, report, review.Error, "config.yaml\" was changed, which no tool may write", "lib/x.txt\" is not in the scope of INT-001")
	want(t, report, review.Warning, "a lesson was written into \"CLAUDE.md\"", "governance .orchestration/config.yaml")
}

func TestDroppedAndForgedLines(t *testing.T) {
	r := newRepo(t, "")
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.traced("INT-001", "src/a.txt", lines(3, 20))
	r.commit("two records")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(4, 20))
	content, _ := r.read(".orchestration/agent_trace.jsonl")
	all := strings.SplitAfter(content, "\n")
	r.write(".orchestration/agent_trace.jsonl", all[0]+all[2])
	r.commit("one dropped")
	r.broken = true
	report := r.review(review.Options{})
	want(t, report, review.Error, "ledger .orchestration/agent_trace.jsonl dropped_line: … (line 2 there)", "ledger .orchestration/agent_trace.jsonl:2 missing_predecessor")
	// It comes back, with a line that is no record.
	r.write(".orchestration/agent_trace.jsonl", strings.Join(all, "")+`{"prev":[],"timestamp":5}`+"\n<<<<<<< ours\n")
	r.commit("back")
	want(t, r.review(review.Options{}), review.Error, "agent_trace.jsonl:4 malformed_line", "agent_trace.jsonl:5 malformed_line")
	// What the base has already is no fault of the range.
	r.git("switch", "-qC", "main")
	r.git("switch", "-qc", "next")
	r.write("src/n.txt", "n\n")
	r.commit("next")
	report = r.review(review.Options{})
	want(t, report, review.Error)
	want(t, report, review.Warning, "the base has it too", "the base has it too")
}

// A pull request that removes the whole directory, or puts a link in its place, is not judged by nothing.
func TestGovernanceRemoved(t *testing.T) {
	r := newRepo(t, "")
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.commit("one record")
	for name, link := range map[string]bool{"removed": false, "link": true} {
		r.git("switch", "-q", "main")
		r.git("switch", "-qc", name)
		r.git("rm", "-rqf", "--cached", ".orchestration")
		if link {
			id := r.git("rev-parse", "HEAD:src/a.txt")
			r.git("update-index", "--add", "--cacheinfo", "120000,"+id+",.orchestration")
		}
		r.git("commit", "-qm", name)
		report := r.review(review.Options{Head: name})
		if got := strings.Join(found(report, review.Error), "\n"); !strings.Contains(got, "dropped_line") || link != strings.Contains(got, "a link or a submodule") {
			t.Errorf("%s: %s", name, got)
		}
		r.git("reset", "-q", "--hard", "main")
	}
}

func TestWithoutLines(t *testing.T) {
	r := newRepo(t, "")
	r.write("src/old.bin", "\x00\x01")
	r.write("src/run.sh", "echo\n")
	r.write("src/name.txt", lines(30, 60))
	r.commit("more")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/traced.bin", "\x00\x01\x02")
	r.write("src/hand.bin", "\x00\x05")
	must(t, os.Remove(filepath.Join(r.dir, "src/old.bin")))
	r.git("update-index", "--chmod=+x", "src/run.sh")
	r.git("mv", "src/name.txt", "src/renamed.txt")
	must(t, os.Symlink("/etc", filepath.Join(r.dir, "src/link")))
	r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",src/module")
	r.git("add", "src")
	r.git("update-index", "--chmod=+x", "src/run.sh")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",src/module")
	r.git("add", ".orchestration")
	r.git("commit", "-qm", "odd files")
	report := r.review(review.Options{})
	kinds := map[string]string{}
	for _, f := range report.Files {
		kinds[f.Path] = f.Kind
	}
	wantKinds := map[string]string{"src/traced.bin": "binary", "src/hand.bin": "binary", "src/old.bin": "binary", "src/run.sh": "mode",
		"src/renamed.txt": "rename", "src/link": "link", "src/module": "submodule"}
	if !reflect.DeepEqual(kinds, wantKinds) {
		t.Errorf("%v", kinds)
	}
	if report.Lines != (review.Lines{Added: 6, Removed: 1, Traced: 1}) {
		t.Errorf("%+v", report.Lines)
	}
}

func TestRenames(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(1, 20)+"by the agent, who is right\n")
	r.git("mv", "src/a.txt", "src/b.txt")
	r.commit("renamed by git")
	if f := file(t, r.review(review.Options{}), "src/b.txt"); f.From != "src/a.txt" || f.Lines != (review.Lines{Added: 1, Traced: 1}) {
		t.Errorf("%+v", f)
	}
	// And through the server.
	content, _ := r.read("src/b.txt")
	before := ledger.Change{}
	r.traced("INT-001", "src/b.txt", content, func(rec *ledger.Record) {
		c := &rec.Changes[0]
		before = *c
		c.Op, c.From, c.Path, c.Hunks, c.Ranges = change.Moved, "src/b.txt", "src/c.txt", nil, nil
	})
	r.git("mv", "src/b.txt", "src/c.txt")
	r.commit("moved by the server")
	if before.Path != "src/b.txt" {
		t.Fatal("the record was not made")
	}
	report := r.review(review.Options{})
	if f := file(t, report, "src/c.txt"); f.Lines != (review.Lines{Added: 1, Traced: 1}) {
		t.Errorf("%+v", f)
	}
	want(t, report, review.Error)
}

// The workspace is a directory of the repository: what lies beside it has no records, and is not passed over silently.
func TestWorkspaceBelow(t *testing.T) {
	r := newRepo(t, "services/api")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.traced("INT-002", "src/b.txt", "x\n")
	must(t, os.WriteFile(filepath.Join(r.top, "Makefile"), []byte("all:\n"), 0o644))
	r.commit("both")
	report := r.review(review.Options{})
	want(t, report, review.Error, `scope services/api/src/b.txt "src/b.txt" is not in the scope of INT-002`)
	if report.Workspace != "services/api" || report.Beyond != 1 || !slices.Equal(report.Outside, []string{"Makefile"}) {
		t.Errorf("%q %d %v", report.Workspace, report.Beyond, report.Outside)
	}
	if !strings.Contains(strings.Join(report.Unproven, "\n"), "1 changed files are outside the workspace") {
		t.Errorf("%q", report.Unproven)
	}
	if file(t, report, "services/api/src/a.txt").Lines.Traced != 1 {
		t.Error("a line in a workspace below the top is not traced")
	}
}

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
	must(t, r.ledger.Close(context.Background()))
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
	must(t, r.ledger.Close(context.Background()))
	r.openLedgerOf(4096)
	must(t, r.ledger.Rotate(context.Background()))
	must(t, r.ledger.Close(context.Background()))
	r.openLedger()
	r.traced("INT-001", "src/a.txt", lines(5, 20))
	r.traced("INT-001", "src/a.txt", lines(6, 20))
	r.commit("rotated")
	archives, err := filepath.Glob(filepath.Join(r.dir, ".orchestration/archive/*"))
	if must(t, err); len(archives) == 0 {
		t.Fatal("nothing was rotated")
	}
	report := r.review(review.Options{MinTraced: 100})
	want(t, report, review.Error)
	if report.Records != 2 {
		t.Errorf("%d records", report.Records)
	}
	r.git("rm", "-q", "--cached", "-r", ".orchestration/archive")
	r.git("commit", "-qm", "archive removed")
	if got := strings.Join(found(r.review(review.Options{}), review.Error), "\n"); !strings.Contains(got, "dropped_line") {
		t.Errorf("a removed archive: %s", got)
	}
}

// The commits that forges make: a test merge, and a squash.
func TestMergeAndSquash(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(1, 20)+"from the branch\n")
	r.commit("work")
	r.git("switch", "-q", "main")
	must(t, r.ledger.Close(context.Background()))
	r.openLedger()
	r.traced("INT-002", "docs/manual.txt", "manual\nfrom main\n")
	r.commit("main goes on")
	r.git("switch", "-qc", "merged")
	r.git("merge", "-q", "--no-edit", "work")
	for _, head := range []string{"work", "merged"} {
		report := r.review(review.Options{Head: head, MinTraced: 100})
		want(t, report, review.Error)
		if report.Records != 1 || report.Lines != (review.Lines{Added: 1, Traced: 1}) {
			t.Errorf("%s: %d records, %+v", head, report.Records, report.Lines)
		}
	}
	r.git("switch", "-q", "main")
	r.git("merge", "-q", "--squash", "work")
	r.commit("squashed")
	report := r.review(review.Options{Base: "main^", Head: "main", MinTraced: 100})
	want(t, report, review.Error)
	if report.Commits != 1 || report.Records != 1 {
		t.Errorf("%d commits, %d records", report.Commits, report.Records)
	}
	if _, err := review.Run(t.Context(), r.root, review.Options{Base: "main", Head: "main"}); !errors.Is(err, review.ErrEmptyRange) {
		t.Errorf("an empty range: %v", err)
	}
}

// A gate that had nothing to judge, or whose ledger is gone, does not pass.
func TestNothingToJudge(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
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
	if _, err := review.Run(t.Context(), none.root, review.Options{Base: "main"}); !errors.Is(err, review.ErrNotGoverned) {
		t.Errorf("a repository without .orchestration: %v", err)
	}
}

func TestCannotBeJudged(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.write("src/x", "x\n")
	r.commit("more")
	for _, c := range []struct {
		opts review.Options
		want error
	}{
		{review.Options{Base: "nothing"}, review.ErrUnknownRevision}, {review.Options{Base: "main", Head: "nothing"}, review.ErrUnknownRevision},
		{review.Options{Base: "--all"}, review.ErrUnknownRevision},
	} {
		if _, err := review.Run(t.Context(), r.root, c.opts); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
	r.git("switch", "-q", "--orphan", "other")
	r.git("commit", "-q", "--allow-empty", "-m", "other")
	if _, err := review.Run(t.Context(), r.root, review.Options{Base: "main"}); !errors.Is(err, review.ErrUnrelated) {
		t.Errorf("unrelated: %v", err)
	}
	clone := t.TempDir()
	if out, err := exec.Command("git", "clone", "-q", "--depth=1", "--branch=work", "file://"+r.top, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	root, err := os.OpenRoot(clone)
	must(t, err)
	defer root.Close()
	if _, err := review.Run(t.Context(), root, review.Options{Base: "HEAD"}); !errors.Is(err, review.ErrShallow) || !strings.Contains(err.Error(), "fetch-depth") {
		t.Errorf("shallow: %v", err)
	}
	none, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer none.Close()
	if _, err := review.Run(t.Context(), none, review.Options{Base: "HEAD"}); !errors.Is(err, review.ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
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

func claimed(rec *ledger.Record) {
	rec.MutationClass = "AST_REFACTOR"
	rec.Class = &ledger.Class{Declared: "AST_REFACTOR", Computed: "AST_REFACTOR", Evidence: "proven"}
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
			r := newRepo(t, "")
			r.git("switch", "-qc", "work")
			for _, content := range c.contents {
				r.traced("INT-001", "src/a.txt", content, claimed)
			}
			r.commit("claims")
			report := r.review(review.Options{Judge: honestJudge})
			want(t, report, review.Error, c.errors...)
			if got := file(t, report, "src/a.txt").Evidence; got != c.evidence {
				t.Errorf("evidence %s", got)
			}
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
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", "refactor 1\n", claimed)
	r.traced("INT-001", "src/a.txt", "evolved\n")
	r.commit("both")
	want(t, r.review(review.Options{Judge: honestJudge}), review.Error)
}

func TestViolationsAndForeignLines(t *testing.T) {
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	r.append(ledger.Record{Kind: ledger.KindCommand, IntentID: "INT-001", Command: &ledger.Command{Command: "make"}, Violations: []ledger.Violation{
		{Path: "docs/x.txt", Op: change.Created}, {Path: "docs/y.txt", Op: change.Created, Reverted: true},
	}})
	content, _ := r.read(".orchestration/agent_trace.jsonl")
	r.write(".orchestration/agent_trace.jsonl", content+`{"version":"0.1.0","files":[{"path":"src/a.txt"}]}`+"\n")
	r.commit("violations")
	report := r.review(review.Options{})
	want(t, report, review.Warning, `violation .orchestration/agent_trace.jsonl:1 a command left the scope of INT-001: "docs/x.txt" created`)
	want(t, report, review.Note, "which was undone")
	if report.Foreign != 1 || report.Records != 1 {
		t.Errorf("%d foreign, %d records", report.Foreign, report.Records)
	}
}

// A renaming over several packages is judged again with what HEAD says about them: the module that they are in.
func TestClassClaimOverSeveralPackages(t *testing.T) {
	for _, c := range []struct {
		name, module string
		errors       []string
	}{
		{"the module tells what the import means", "module example.com/m\n", nil},
		{"another module", "module example.com/other\n", []string{`class src/a/a.go "src/a/a.go" is claimed to be a refactor: src/b/b.go:5: `}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t, "")
			source := map[string]string{
				"src/go.mod": c.module, "src/a/a.go": "package a\n\nfunc First() int { return 1 }\n",
				"src/b/b.go": "package b\n\nimport \"example.com/m/a\"\n\nvar B = a.First()\n",
			}
			for name, content := range source {
				r.write(name, content)
			}
			r.commit("base")
			r.git("switch", "-qc", "work")
			var changes []ledger.Change
			for _, name := range []string{"src/a/a.go", "src/b/b.go"} {
				r.traced("INT-001", name, strings.ReplaceAll(source[name], "First", "Second"), func(rec *ledger.Record) {
					changes = append(changes, rec.Changes...)
					rec.Changes, rec.Kind = nil, ledger.KindDecision
				})
			}
			r.append(ledger.Record{
				Kind: ledger.KindMutation, IntentID: "INT-001", Call: "apply_patch", MutationClass: "AST_REFACTOR", Changes: changes,
				Class:       &ledger.Class{Declared: "AST_REFACTOR", Computed: "AST_REFACTOR", Evidence: "proven"},
				Contributor: ledger.Contributor{Type: "ai", ModelID: "test/model"},
			})
			r.commit("claims")
			want(t, r.review(review.Options{}), review.Error, c.errors...)
		})
	}
}

// A renaming of a field is judged again with the types that the package has at HEAD, or had before the range.
func TestClassClaimAmongThePackage(t *testing.T) {
	const types = "package a\n\ntype whole struct{ first part }\n"
	for _, c := range []struct {
		name, before, head string
		errors             []string
	}{
		{"HEAD tells the type", "package a\n", types, nil},
		{"the merge base told it", types, "package a\n\ntype whole = other\n", nil},
		{"nothing tells it", "package a\n", "package a\n", []string{`class src/a/a.go "src/a/a.go" is claimed to be a refactor: src/a/a.go:5: `}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t, "")
			source := "package a\n\ntype part struct{ count int }\n\nfunc total(w *whole) int { return w.first.count }\n"
			r.write("src/a/a.go", source)
			r.write("src/a/b.go", c.before)
			r.commit("base")
			r.git("switch", "-qc", "work")
			r.traced("INT-001", "src/a/a.go", strings.ReplaceAll(source, "count", "size"), claimed)
			if c.before != c.head {
				r.traced("INT-001", "src/a/b.go", c.head)
			}
			r.commit("claims")
			want(t, r.review(review.Options{}), review.Error, c.errors...)
		})
	}
}
