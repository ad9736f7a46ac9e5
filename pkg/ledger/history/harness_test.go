package history_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const tracePath = ".orchestration/agent_trace.jsonl"

// repository is a workspace with a ledger in git.
type repository struct {
	t      *testing.T
	dir    string
	root   *os.Root
	layout ledger.Layout
	clock  time.Time // of git
}

func newRepository(t *testing.T, layout ledger.Layout, below string) *repository {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	top := t.TempDir()
	r := &repository{t: t, dir: filepath.Join(top, below), layout: layout, clock: time.Unix(1772000000, 0)}
	check.OK(t, os.MkdirAll(filepath.Join(r.dir, ".orchestration"), 0o755))
	r.root = check.Value(os.OpenRoot(r.dir))(t)
	t.Cleanup(func() { r.root.Close() })
	r.git("init", "-q")
	r.write(".gitattributes", strings.ReplaceAll(locate.GitAttributes, "/.orchestration", "**/.orchestration"))
	r.write(".orchestration/.gitignore", "/state/\n/cache/\n")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	return check.Value(r.tryGit(args...))(r.t)
}

func (r *repository) tryGit(args ...string) (string, error) {
	r.clock = r.clock.Add(time.Second)
	return check.GitAt(r.dir, r.clock, args...)
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	check.Write(r.t, r.dir, name, content)
}

func (r *repository) read(name string) string {
	r.t.Helper()
	return string(check.Value(os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name))))(r.t))
}

const session = "7d4a7a0e-53f5-4d4f-9a4e-0a3f3f6f7a11"

// record appends and commits a record for each call.
func (r *repository) record(calls ...string) {
	r.t.Helper()
	check.OK(r.t, os.MkdirAll(filepath.Join(r.dir, ".orchestration"), 0o755))
	for _, call := range calls {
		l := check.Value(ledger.Open(r.root, ledger.Options{Durability: ledger.DurabilityOS, Layout: r.layout}))(r.t)
		check.Value(l.Append(context.Background(), record.Record{Kind: record.KindRead, Call: call, Session: session}))(r.t)
		check.OK(r.t, l.Close(context.Background()))
		r.commit(call)
	}
}

func (r *repository) commit(message string) {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
}

func (r *repository) verify() history.Report {
	r.t.Helper()
	return check.Value(history.Verify(context.Background(), r.root, history.Options{}))(r.t)
}

// segment is the file that records go to.
func (r *repository) segment() string {
	if r.layout == ledger.LayoutSessions {
		return ".orchestration/trace/" + session + ".jsonl"
	}
	return tracePath
}

func (r *repository) lines() []string { return strings.SplitAfter(r.read(r.segment()), "\n") }
