package review_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

func file(t *testing.T, report *review.Report, path string) review.File {
	t.Helper()
	i := slices.IndexFunc(report.Files, func(f review.File) bool { return f.Path == path })
	check.Must(t, i >= 0, "no file %s in %+v", path, report.Files)
	return report.Files[i]
}

func TestTracedWorkPasses(t *testing.T) {
	r := newWork(t)
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
	again := r.review(review.Options{MinTraced: 100})
	check.That(t, reflect.DeepEqual(again, report), "a second run says something else: %+v", again)
}

// What is in the work tree does not count: only commits do.
func TestWorkTreeDoesNotCount(t *testing.T) {
	r := newWork(t)
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.traced("INT-002", "src/a.txt", lines(3, 20))
	r.commit("out of scope")
	head := r.git("rev-parse", "HEAD")
	before := r.review(review.Options{Head: head})
	want(t, before, review.Error, `scope src/a.txt "src/a.txt" is not in the scope of INT-002`)
	r.git("switch", "-q", "main")
	r.write(intentsPath, strings.ReplaceAll(baseIntents, "docs/**", "**"))
	r.write("src/a.txt", "something else\n")
	after := r.review(review.Options{Head: head})
	check.That(t, reflect.DeepEqual(after, before), "the work tree changed the report: %+v", after)
}

func TestUntracedLinesAreListed(t *testing.T) {
	r := newWork(t)
	r.traced("INT-001", "src/a.txt", lines(1, 20)+"by the agent\nalso by the agent\n")
	// Somebody else takes three lines away, adds two, and puts a file of his own.
	r.write("src/a.txt", "by hand first\n"+lines(1, 10)+lines(14, 20)+"by the agent\nalso by the agent\nby hand last\n")
	r.write("src/hand.txt", "by hand\n")
	check.OK(t, os.Remove(filepath.Join(r.dir, "docs/manual.txt")))
	r.commit("mixed")
	report := r.review(review.Options{})
	want(t, report, review.Error)
	want(t, report, review.Note, "untraced docs/manual.txt no record explains why 1 lines are gone", "src/a.txt … why 3 lines",
		"src/a.txt:1 ", "src/a.txt:21 ", "src/hand.txt:1 ")
	check.That(t, report.Lines == (review.Lines{Added: 5, Removed: 4, Traced: 2}), "%+v", report.Lines)
	check.That(t, report.Passed, "untraced lines fail a gate that asks for none")
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
			r := newWork(t)
			r.traced("INT-001", "src/b.txt", lines(1, 40), func(rec *record.Record) {
				if !c.marked {
					rec.Changes[0].Marks = nil
				}
			})
			r.write("src/b.txt", c.touch(lines(1, 40)))
			r.commit("work")
			for _, depth := range [][]string{nil, {"--depth=2"}} {
				clone := filepath.Join(t.TempDir(), "clone")
				r.git(slices.Concat([]string{"clone", "-q", "--no-single-branch"}, depth, []string{"file://" + r.top, clone})...)
				root := check.Value(os.OpenRoot(clone))(t)
				report := check.Value(review.Run(context.Background(), root, review.Options{Base: "origin/main"}))(t)
				check.OK(t, root.Close())
				if report.Lines != (review.Lines{Added: 40, Traced: c.traced}) {
					t.Errorf("%v: %+v, want %d traced", depth, report.Lines, c.traced)
				}
			}
		})
	}
}

func TestScopeIsThatOfTheBase(t *testing.T) {
	r := newWork(t)
	r.write(intentsPath, strings.ReplaceAll(baseIntents, `"docs/**"`, `"docs/**", "src/**"`)+
		"  - {id: INT-009, name: New, status: TODO, owned_scope: [\"new/**\"]}\n")
	r.append(record.Record{Kind: record.KindLifecycle, IntentID: "INT-009", Call: "propose_intent"})
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
	r := newWork(t)
	r.write(".intentignore", "unscoped:**\n")
	r.write(".orchestration/config.yaml", "sandbox: off\n")
	r.commit("milder")
	report := r.review(review.Options{})
	want(t, report, review.Warning, "governance .intentignore the ignore rules were added", "config.yaml the settings were added")
	check.That(t, report.Passed, "warnings fail without Strict")
	check.That(t, !r.review(review.Options{Strict: true}).Passed, "warnings pass with Strict")
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
	r.append(record.Record{Kind: record.KindDecision, IntentID: "INT-001", Decision: &record.Decision{Outcome: "approved", Paths: []string{"docs/approved.txt"}}})
	r.append(record.Record{Kind: record.KindDecision, IntentID: "INT-001", Decision: &record.Decision{Outcome: "refused", Paths: []string{"x"}}})
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
	r := newWork(t)
	lesson := func(rec *record.Record) {
		rec.Kind, rec.Call, rec.Detail = record.KindLifecycle, "record_lesson", map[string]any{"lesson": "lesson", "text": "x"}
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
		got := strings.Join(found(report, review.Error), "\n")
		check.That(t, strings.Contains(got, "dropped_line") && link == strings.Contains(got, "a link or a submodule"), "%s: %s", name, got)
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
	check.OK(t, os.Remove(filepath.Join(r.dir, "src/old.bin")))
	r.git("update-index", "--chmod=+x", "src/run.sh")
	r.git("mv", "src/name.txt", "src/renamed.txt")
	check.OK(t, os.Symlink("/etc", filepath.Join(r.dir, "src/link")))
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
		check.That(t, (f.From == "src/name.txt") == (f.Kind == "rename"), "%+v", f)
	}
	wantKinds := map[string]string{"src/traced.bin": "binary", "src/hand.bin": "binary", "src/old.bin": "binary", "src/run.sh": "mode",
		"src/renamed.txt": "rename", "src/link": "link", "src/module": "submodule"}
	check.That(t, reflect.DeepEqual(kinds, wantKinds), "%v", kinds)
	check.That(t, report.Lines == (review.Lines{Added: 6, Removed: 1, Traced: 1}), "%+v", report.Lines)
}

// The workspace is a directory of the repository: what lies beside it has no records, and is not passed over silently.
func TestWorkspaceBelow(t *testing.T) {
	r := newRepo(t, "services/api")
	r.git("switch", "-qc", "work")
	r.traced("INT-001", "src/a.txt", lines(2, 20))
	r.traced("INT-002", "src/b.txt", "x\n")
	check.OK(t, os.WriteFile(filepath.Join(r.top, "Makefile"), []byte("all:\n"), 0o644))
	r.commit("both")
	report := r.review(review.Options{})
	want(t, report, review.Error, `scope services/api/src/b.txt "src/b.txt" is not in the scope of INT-002`)
	if report.Workspace != "services/api" || report.Beyond != 1 || !slices.Equal(report.Outside, []string{"Makefile"}) {
		t.Errorf("%q %d %v", report.Workspace, report.Beyond, report.Outside)
	}
	check.That(t, strings.Contains(strings.Join(report.Unproven, "\n"), "1 changed files are outside the workspace"), "%q", report.Unproven)
	check.That(t, file(t, report, "services/api/src/a.txt").Lines.Traced == 1, "a line in a workspace below the top is not traced")
}
