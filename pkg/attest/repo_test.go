package attest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const version = "1.2.3"

// TestMain keeps git from the configuration of whoever runs the tests.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "attest-home-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		os.Setenv(name, home)
	}
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// place is a clone with a workspace at its top.
type place struct {
	t    testing.TB
	dir  string
	root *os.Root
}

func newPlace(t testing.TB, dir string) *place {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return &place{t, dir, root}
}

func (p *place) git(args ...string) string {
	p.t.Helper()
	return check.Value(check.GitAt(p.dir, time.Unix(1772000000, 0), args...))(p.t)
}

func (p *place) write(path, content string) {
	p.t.Helper()
	check.Write(p.t, p.dir, path, content)
}

// author is who works with an agent.
type author struct {
	*place
	ledger *ledger.Ledger
	key    *seal.Key
	clock  time.Time
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "this is line number %d\n", i)
	}
	return b.String()
}

// newAuthor is a repository with a commit on main, and the branch work.
func newAuthor(t testing.TB, format string, beside bool) *author {
	t.Helper()
	return newAuthorIn(t, t.TempDir(), "", format, beside)
}

// newAuthorIn has its workspace below the top.
func newAuthorIn(t testing.TB, top, below, format string, beside bool) *author {
	t.Helper()
	dir := filepath.Join(top, below)
	check.OK(t, os.MkdirAll(dir, 0o755))
	a := &author{place: newPlace(t, dir), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	a.git("init", "-q", "-b", "main", "--object-format="+format, top)
	a.write(".orchestration/active_intents.yaml", "active_intents:\n  - {id: INT-001, name: Build it, status: IN_PROGRESS, owned_scope: [\"src/**\"]}\n")
	a.write(".orchestration/config.yaml", "scope: {required: true}\n")
	ignored := "/state/\n/cache/\n"
	if beside {
		ignored += "/agent_trace.jsonl\n/archive/\n"
	}
	a.write(".orchestration/.gitignore", ignored)
	a.write("src/a.txt", lines(1, 20))
	a.write("src/old.txt", lines(30, 35))
	a.write("src/unchanged.txt", lines(50, 60))
	a.write("docs/manual.txt", "manual\n")
	a.ledger = check.Value(ledger.Open(a.root, ledger.Options{Beside: beside, Durability: ledger.DurabilityOS, Clock: func() time.Time {
		a.clock = a.clock.Add(time.Second)
		return a.clock
	}}))(t)
	t.Cleanup(func() {
		check.OK(t, a.ledger.Close(context.Background()))
		report := check.Value(verify.Verify(context.Background(), a.root))(t)
		check.That(t, len(report.Problems) == 0, "the ledger ends with %v", report.Problems)
	})
	a.key = check.Value(seal.CreateKey(t.TempDir(), "alice"))(t)
	a.commit("base")
	a.git("switch", "-qc", "work")
	return a
}

// commit names the heads of the ledger, as the hook does.
func (a *author) commit(message string) {
	a.t.Helper()
	report := check.Value(verify.Verify(context.Background(), a.root))(a.t)
	if locate.IsBeside(a.root) {
		message += "\n"
		for _, head := range report.Heads {
			message += "\n" + gitref.TrailerKey + ": " + head
		}
	}
	a.git("add", "-A")
	a.git("commit", "-q", "-m", message)
}

// traced changes a file as the server does; an empty content removes it.
func (a *author) traced(path, content string) {
	a.t.Helper()
	before, err := os.ReadFile(filepath.Join(a.dir, path))
	c := record.Change{Change: change.Change{Op: change.Modified, Path: path, Hunks: edit.Hunks(string(before), content)}}
	if err == nil {
		c.Before = a.version(string(before))
	} else {
		c.Op = change.Created
	}
	if content == "" {
		c.Op = change.Deleted
		check.OK(a.t, os.Remove(filepath.Join(a.dir, path)))
	} else {
		a.write(path, content)
		c.After = a.version(content)
		for _, r := range edit.ChangedRanges(content, c.Hunks) {
			c.Ranges = append(c.Ranges, record.Range(r))
		}
	}
	a.changed("write_to_file", c)
}

// changed records a change of a file.
func (a *author) changed(call string, c record.Change) {
	a.t.Helper()
	a.record(record.Record{Kind: record.KindMutation, Call: call, Changes: []record.Change{c}})
}

// version is a content as a record names it.
func (a *author) version(content string) change.Version {
	return change.Version{Hash: string(workspace.HashOf([]byte(content))), OID: a.ledger.BlobID([]byte(content))}
}

func (a *author) move(from, to string) {
	a.t.Helper()
	content := check.Value(os.ReadFile(filepath.Join(a.dir, from)))(a.t)
	check.OK(a.t, os.Rename(filepath.Join(a.dir, from), filepath.Join(a.dir, to)))
	same := a.version(string(content))
	a.changed("move_file", record.Change{Change: change.Change{Op: change.Moved, Path: to, From: from, Before: same, After: same}})
}

func (a *author) record(rec record.Record) {
	a.t.Helper()
	rec.IntentID, rec.MutationClass, rec.Contributor = "INT-001", "INTENT_EVOLUTION", record.Contributor{Type: "ai", ModelID: "test/model"}
	_, err := a.ledger.Append(context.Background(), rec)
	check.OK(a.t, err)
}

// work does two commits: all of the agent's changes can be replayed.
func (a *author) work() {
	a.t.Helper()
	a.record(record.Record{Kind: record.KindSelection})
	a.record(record.Record{Kind: record.KindDecision, Decision: &record.Decision{Outcome: "refused", ErrorType: "SCOPE_VIOLATION"}})
	a.traced("src/a.txt", lines(1, 10)+"one\n"+lines(11, 20))
	a.traced("src/new.txt", "alpha\nbeta\n")
	a.commit("first")
	a.record(record.Record{Kind: record.KindDecision, Decision: &record.Decision{Outcome: "approved", Approval: "apr_7"}})
	a.traced("src/a.txt", lines(2, 10)+"one\ntwo\n"+lines(11, 20))
	a.traced("src/deep/er/new.txt", "gamma\n")
	a.traced("src/old.txt", "")
}

// seal signs the ledger, for the next commit.
func (a *author) seal() {
	a.t.Helper()
	_, err := seal.Create(context.Background(), a.root, a.key, seal.CreateOptions{Now: func() time.Time { return a.clock }})
	check.OK(a.t, err)
}

func (a *author) attest() []byte {
	a.t.Helper()
	text, _, err := attest.Make(context.Background(), a.root, "main", "work", version, attest.SealSigner(a.key))
	check.OK(a.t, err)
	return text
}

// stranger clones what the author has, with the ref of the ledger.
func (a *author) stranger(keep gitref.Withheld) *place {
	a.t.Helper()
	beside := locate.IsBeside(a.root)
	if beside {
		_, err := gitref.Export(context.Background(), a.root, keep)
		check.OK(a.t, err)
	}
	dir := filepath.Join(a.t.TempDir(), "clone")
	a.git("clone", "-q", "--no-local", a.dir, dir)
	p := newPlace(a.t, dir)
	if beside {
		p.git("fetch", "-q", "origin", gitref.Ref+":"+gitref.Ref)
		_, err := gitref.Import(context.Background(), p.root)
		check.OK(a.t, err)
	}
	return p
}

// judged is what a stranger finds of the author's statement.
func (a *author) judged(keep gitref.Withheld) *attest.Result {
	a.t.Helper()
	return check.Value(a.stranger(keep).verify(a.attest(), attest.SealKey(a.key.Public())))(a.t)
}

func (p *place) verify(text []byte, keys ...attest.PublicKey) (*attest.Result, error) {
	return attest.Verify(context.Background(), p.root, text, attest.VerifyOptions{Required: keys, Version: version})
}

// finished is a whole story: what the author made, the statement, and a stranger.
func finished(t testing.TB, format string, beside bool) (*author, []byte, *place) {
	t.Helper()
	a := newAuthor(t, format, beside)
	a.work()
	a.seal()
	a.commit("second")
	return a, a.attest(), a.stranger(gitref.Withheld{})
}
