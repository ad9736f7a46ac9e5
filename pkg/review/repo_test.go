package review_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/review"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const baseIntents = `active_intents:
  - {id: INT-001, name: Build the API, status: IN_PROGRESS, owned_scope: ["src/**"]}
  - {id: INT-002, name: Write the manual, status: IN_PROGRESS, owned_scope: ["docs/**"]}
`

const intentsPath = ".orchestration/active_intents.yaml"

// repo is a git repository with a workspace in it, whose changes go through a real ledger or past it.
type repo struct {
	t      testing.TB
	top    string // of the repository
	dir    string // of the workspace
	root   *os.Root
	ledger *ledger.Ledger
	clock  time.Time
	broken bool // the test leaves the ledger with problems
	beside bool // the ledger stands beside the tree, and commits of recorded changes name its heads as the hook does
	named  bool // the last record is named by a commit
}

// ownHome keeps the settings of who runs the tests out.
func ownHome(t testing.TB) {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func newRepo(t testing.TB, below string) *repo {
	t.Helper()
	ownHome(t)
	return newRepoWith(t, below, false)
}

// newWork is a repository on a branch from its main.
func newWork(t testing.TB) *repo {
	t.Helper()
	r := newRepo(t, "")
	r.git("switch", "-qc", "work")
	return r
}

// newRepoWith is a repository with the ledger in the tree or beside it, and two files. The caller sees to ownHome.
func newRepoWith(t testing.TB, below string, beside bool) *repo {
	t.Helper()
	r := &repo{t: t, top: t.TempDir(), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), beside: beside, named: true}
	r.dir = filepath.Join(r.top, below)
	r.git("init", "-q", "-b", "main")
	r.write(intentsPath, baseIntents)
	ignored := "/state/\n/cache/\n"
	if beside {
		ignored += "/agent_trace.jsonl\n"
	} else {
		r.write(".gitattributes", locate.GitAttributes)
	}
	r.write(".orchestration/.gitignore", ignored)
	r.root = check.Value(os.OpenRoot(r.dir))(t)
	r.openLedger()
	t.Cleanup(func() {
		check.OK(t, r.ledger.Close(context.Background()))
		report := check.Value(verify.Verify(context.Background(), r.root))(t)
		check.That(t, (len(report.Problems) > 0) == r.broken, "the ledger ends with %v", report.Problems)
		r.root.Close()
	})
	r.write("src/a.txt", lines(1, 20))
	r.write("docs/manual.txt", "manual\n")
	if beside {
		r.traced("INT-002", "docs/manual.txt", "manual\n", func(rec *record.Record) { rec.Call = "before all else" })
	}
	r.commit("base")
	return r
}

func (r *repo) openLedger() { r.openLedgerOf(0) }

// openLedgerOf is a ledger that rotates at a size.
func (r *repo) openLedgerOf(size int64) {
	r.ledger = check.Value(ledger.Open(r.root, ledger.Options{Clock: func() time.Time {
		r.clock = r.clock.Add(time.Second)
		return r.clock
	}, Durability: ledger.DurabilityOS, SegmentSize: size, Beside: r.beside}))(r.t)
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "this is line number %d\n", i)
	}
	return b.String()
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	return check.Value(r.try(args...))(r.t)
}

func (r *repo) try(args ...string) (string, error) {
	r.clock = r.clock.Add(time.Second)
	return check.GitAt(r.top, r.clock, args...)
}

func (r *repo) commit(message string) {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message+r.trailer())
}

// trailer names the heads of the ledger, if there are records that no commit names yet.
func (r *repo) trailer() (text string) {
	if !r.beside || r.named {
		return ""
	}
	for _, head := range check.Value(locate.Heads(context.Background(), r.root))(r.t) {
		text += "\n" + gitref.TrailerKey + ": " + head.String()
	}
	r.named = true
	return "\n" + text
}

// write changes a file past the ledger.
func (r *repo) write(path, content string) {
	r.t.Helper()
	check.Write(r.t, r.dir, path, content)
}

func (r *repo) read(path string) (string, bool) {
	content, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(path)))
	return string(content), err == nil
}

// traced writes a file under an intent as the server does; an empty content removes it.
func (r *repo) traced(intent, path, content string, edits ...func(*record.Record)) {
	r.t.Helper()
	before, had := r.read(path)
	c := record.Change{Change: change.Change{Op: change.Modified, Path: path, Hunks: edit.Hunks(before, content)}}
	if had {
		c.Before.Hash, c.Before.OID = string(workspace.HashOf([]byte(before))), r.ledger.BlobID([]byte(before))
	} else {
		c.Op = change.Created
	}
	if content == "" {
		c.Op = change.Deleted
		check.OK(r.t, os.Remove(filepath.Join(r.dir, filepath.FromSlash(path))))
	} else {
		r.write(path, content)
		c.After.Hash, c.After.OID = string(workspace.HashOf([]byte(content))), r.ledger.BlobID([]byte(content))
		for _, lines := range edit.ChangedRanges(content, c.Hunks) {
			c.Ranges = append(c.Ranges, record.Range(lines))
		}
		c.Mark(edit.Lines(content))
	}
	rec := record.Record{
		Kind: record.KindMutation, IntentID: intent, Call: "write_to_file", MutationClass: "INTENT_EVOLUTION", Changes: []record.Change{c},
		Contributor: record.Contributor{Type: "ai", ModelID: "test/model"},
	}
	for _, change := range edits {
		change(&rec)
	}
	r.append(rec)
}

func (r *repo) append(rec record.Record) {
	r.t.Helper()
	check.Value(r.ledger.Append(context.Background(), rec))(r.t)
	r.named = false
}

func (r *repo) review(opts review.Options) *review.Report {
	r.t.Helper()
	if opts.Base == "" {
		opts.Base = "main"
	}
	return check.Value(review.Run(context.Background(), r.root, opts))(r.t)
}

// found gives the findings of a severity as "check file:line message".
func found(report *review.Report, severity review.Severity) (texts []string) {
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Severity == severity {
			texts = append(texts, fmt.Sprintf("%s %s %s", f.Check, f.Where(), f.Message))
		}
	}
	return texts
}

// want holds the findings of a severity to a list of texts that each must contain, in order.
func want(t testing.TB, report *review.Report, severity review.Severity, texts ...string) {
	t.Helper()
	got := found(report, severity)
	ok := len(got) == len(texts)
	for i := 0; ok && i < len(got); i++ {
		for _, part := range strings.Split(texts[i], " … ") {
			ok = ok && strings.Contains(got[i], part)
		}
	}
	if !ok {
		t.Errorf("%s findings:\n%s\nwant:\n%s", severity, strings.Join(got, "\n"), strings.Join(texts, "\n"))
	}
}
