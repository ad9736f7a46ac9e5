package gitref_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// clone is a repository with a workspace, and its ledger beside the tree.
type clone struct {
	t    testing.TB
	dir  string
	root *os.Root
}

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", home)
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1") // for the program's own git
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return check.Value(tryGit(dir, args...))(t)
}

func tryGit(dir string, args ...string) (string, error) {
	return check.GitAt(dir, time.Unix(1772000000, 0), args...)
}

// newForge has a bare repository with one commit.
func newForge(t testing.TB, format string) (forge string) {
	t.Helper()
	dir := t.TempDir()
	forge = filepath.Join(dir, "forge.git")
	seed := filepath.Join(dir, "seed")
	git(t, dir, "init", "-q", "--object-format="+format, seed)
	check.Write(t, seed, ".orchestration/.gitignore", "/state/\n/cache/\n/agent_trace.jsonl\n")
	check.Write(t, seed, ".orchestration/active_intents.yaml", "active_intents: []\n")
	git(t, seed, "add", "-A")
	git(t, seed, "commit", "-qm", "first")
	git(t, dir, "clone", "-q", "--bare", seed, forge)
	return forge
}

func newClone(t testing.TB, forge string, args ...string) *clone {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, filepath.Dir(dir), append(append([]string{"clone", "-q"}, args...), forge, dir)...)
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return &clone{t, dir, root}
}

// record adds refused decisions.
func (c *clone) record(n int) {
	c.t.Helper()
	var all []record.Record
	for i := range n {
		all = append(all, record.Record{Kind: record.KindDecision, Call: fmt.Sprint("call ", i), IntentID: "INT-001", Decision: &record.Decision{Outcome: "refused"}})
	}
	c.append(nil, all...)
}

// append adds records, under ids that are the program's where none are given.
func (c *clone) append(newID func() string, all ...record.Record) {
	c.t.Helper()
	l := check.Value(ledger.Open(c.root, ledger.Options{Beside: true, NewID: newID}))(c.t)
	for _, r := range all {
		check.Value(l.Append(context.Background(), r))(c.t)
	}
	check.OK(c.t, l.Close(context.Background()))
}

func twoClones(t testing.TB) (forge string, a, b *clone) {
	t.Helper()
	forge = newForge(t, "sha1")
	return forge, newClone(t, forge), newClone(t, forge)
}

func (c *clone) sync() gitref.Synced {
	c.t.Helper()
	return check.Value(gitref.Sync(context.Background(), c.root, "origin", gitref.Withheld{}))(c.t)
}

// want checks the number of records, and that nothing is missing.
func (c *clone) want(records int) {
	c.t.Helper()
	report := check.Value(verify.Verify(context.Background(), c.root))(c.t)
	if report.Records != records || len(report.Problems) > 0 {
		c.t.Errorf("the ledger has %d records and problems %v, want %d and none", report.Records, report.Problems, records)
	}
	check.Equal(c.t, git(c.t, c.dir, "status", "--porcelain"), "", "git status")
}
