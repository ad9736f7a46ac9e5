package ledger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// gitWorkspace has a repository with the ledger's attributes, and a ledger that stays open all along.
func gitWorkspace(t *testing.T, opts ledger.Options) (*workspace, *ledger.Ledger) {
	t.Helper()
	w := newWorkspace(t)
	w.git("init", "-q")
	w.write(".gitattributes", locate.GitAttributes)
	w.write(".gitignore", ".orchestration/state/\n")
	return w, w.open(opts)
}

func (w *workspace) commit(message string) {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "-m", message)
}

func TestBranchesMergeAndTheNextAppendJoinsThem(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		t.Run(string(layout), func(t *testing.T) {
			w, l := gitWorkspace(t, ledger.Options{Layout: layout})
			add := func(name string) { appendOne(t, l, mutation("INT-001", name)) }
			add("base1")
			add("base2")
			w.commit("base")
			w.git("switch", "-q", "-c", "feature")
			add("feature1")
			add("feature2")
			w.commit("feature")
			w.git("switch", "-q", "main")
			w.wantRecords(2)
			add("main1")
			w.commit("main")
			w.git("merge", "-q", "-m", "merge", "feature")
			w.wantRecords(5)
			check.Equal(t, len(w.verify().Heads), 2, "heads after the merge")
			add("joined")
			w.wantRecords(6)
			heads := w.verify().Heads
			result := check.Value(l.Query(context.Background(), record.Filter{Newest: true, Limit: 1}))(t)
			last := result.Entries[0]
			if len(last.Prev) != 2 || !slices.IsSorted(last.Prev) || len(heads) != 1 || heads[0] != last.Hash {
				t.Errorf("the next record follows %v, heads %v", last.Prev, heads)
			}
		})
	}
}

func TestFileReplacedWhileAGroupIsWritten(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	replace := 0
	l.UseDisk(ledger.Disk{Flush: func(f *os.File) error {
		if replace > 0 { // as git does: the old content under a new inode
			replace--
			w.write("tmp", strings.SplitAfter(w.read(tracePath), "\n")[0])
			check.OK(t, os.Rename(w.path("tmp"), w.path(tracePath)))
		}
		return f.Sync()
	}})
	appendOne(t, l, mutation("INT-001", "a"))
	replace = 2
	at := appendOne(t, l, mutation("INT-001", "b"))
	w.wantRecords(2)
	heads := w.verify().Heads
	check.That(t, replace == 0 && slices.Equal(heads, []string{at.Hash}), "heads %v, want %s; %d replacements left", heads, at.Hash, replace)
	replace = 100
	check.Fails(l.Append(context.Background(), mutation("INT-001", "c")))(t, ledger.ErrUnavailable, "a file that is replaced for ever")
	replace = 0
	check.OK(t, os.Remove(w.path(tracePath)))
	appendOne(t, l, mutation("INT-001", "d"))
	w.wantRecords(1)
}

func TestLinesThatOthersPutInPlaceAreSeen(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	base := w.read(tracePath)
	appendOne(t, l, mutation("INT-001", "b"))
	other := w.lines(tracePath)[1]
	w.write(tracePath, base) // cut back in place: same inode
	appendOne(t, l, mutation("INT-001", "c"))

	file := check.Value(os.OpenFile(w.path(tracePath), os.O_APPEND|os.O_WRONLY, 0))(t)
	foreign := `{"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00Z","files":[]}`
	check.Value(fmt.Fprintf(file, "%s\n%s\n%s\n\n<<<<<<< HEAD\n", other, other, foreign))(t)
	check.OK(t, file.Close())
	at := appendOne(t, l, mutation("INT-001", "d"))
	w.problems = []ledger.ProblemKind{ledger.ProblemMalformed}
	report := w.verify()
	check.That(t, report.Records == 4 && report.Foreign == 1 && slices.Equal(report.Heads, []string{at.Hash}), "%+v", report)
	result := check.Value(l.Query(context.Background(), record.Filter{ID: at.ID}))(t)
	check.Equal(t, len(result.Entries[0].Prev), 3, "the join follows")
}

func TestConvertedLineEndingsChangeNoRecord(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	appendOne(t, l, mutation("INT-001", "b"))
	w.write(tracePath, strings.ReplaceAll(w.read(tracePath), "\n", "\r\n"))
	appendOne(t, l, mutation("INT-001", "c"))
	w.wantRecords(3)
}

func TestGitRevision(t *testing.T) {
	w := newWorkspace(t)
	g := gitdir.New(w.dir)
	want := func(step string, g *gitdir.Git, revision string) {
		t.Helper()
		check.Equal(t, g.Revision(), revision, "%s revision", step)
	}
	head := func() string { return w.git("rev-parse", "HEAD") }
	want("no repository", g, "")
	w.git("init", "-q")
	want("unborn branch", g, "")
	w.write("sub/x", "1")
	w.commit("one")
	want("loose ref", g, head())
	want("subdirectory", gitdir.New(w.path("sub")), head())
	w.git("pack-refs", "--all")
	want("packed ref", g, head())
	w.write("x", "2")
	w.commit("two")
	w.git("pack-refs", "--all")
	want("packed again", g, head())
	w.git("checkout", "-q", "--detach", "HEAD~1")
	want("detached", g, head())
	tree := filepath.Join(t.TempDir(), "tree")
	w.git("worktree", "add", "-q", "-b", "other", tree, "main")
	want("worktree", gitdir.New(tree), w.git("rev-parse", "main"))
	w.write(".git/HEAD", "ref: refs/../../../../etc/passwd\n")
	want("hostile ref", g, "")
	w.write(".git/HEAD", "ref: refs/heads/loop\n")
	w.write(".git/refs/heads/loop", "ref: refs/heads/loop\n")
	want("loop", g, "")
}

func TestBlobIDIsGits(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWorkspace(t)
		w.git("init", "-q", "--object-format="+format)
		for _, content := range []string{"", "hello\n", strings.Repeat("x\r\n", 10_000)} {
			w.write("f", content)
			want := w.git("hash-object", "--no-filters", "f")
			check.Equal(t, w.open(ledger.Options{}).BlobID([]byte(content)), want, "git's own id, %s", format)
		}
	}
}

// appenderEnv makes this test binary one more process that appends: "<workspace>|<number>|<goroutines>|<records each>",
// and optionally "|<segment size>".
const appenderEnv = "LEDGER_TEST_APPENDER"

func TestMain(m *testing.M) {
	if job := os.Getenv(appenderEnv); job != "" {
		asChild(strings.Split(job, "|"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func asChild(job []string) {
	fatal := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	root, err := os.OpenRoot(job[0])
	fatal(err)
	opts := ledger.Options{}
	if len(job) > 4 {
		opts.SegmentSize, _ = strconv.ParseInt(job[4], 10, 64)
	}
	l, err := ledger.Open(root, opts)
	fatal(err)
	if job[1] == "query" { // makes the index as one more process does
		l.IndexBlocks(3000, 1000)
		_, err = l.Query(context.Background(), record.Filter{IntentID: "none"})
		fatal(err)
		return
	}
	goroutines, _ := strconv.Atoi(job[2])
	records, _ := strconv.Atoi(job[3])
	inParallel(goroutines, func(g int) {
		for n := range records {
			at, err := l.Append(context.Background(), mutation("INT-001", fmt.Sprintf("src/%s-%d-%d", job[1], g, n)))
			fatal(err)
			fmt.Println(at.Hash, at.ID)
		}
	})
	fatal(l.Close(context.Background()))
}

func TestProcessesShareOneFile(t *testing.T) {
	processes, goroutines, records := 3, 4, 20
	if check.Long() {
		processes, records = 6, 500
	}
	w := newWorkspace(t)
	inParallel(processes, func(i int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d|%d", appenderEnv, w.dir, i, goroutines, records))
		out, err := cmd.CombinedOutput()
		check.That(t, err == nil, "process %d: %v\n%s", i, err, out)
	})
	total := processes * goroutines * records
	w.wantRecords(total)
	w.wantOneHead()
	paths := map[string]bool{}
	problems, err := w.open(ledger.Options{}).Scan(context.Background(), func(e record.Entry) error {
		paths[e.Changes[0].Path] = true
		return nil
	})
	if err != nil || len(problems) != 0 || len(paths) != total {
		t.Errorf("%d different records, want %d; problems %v, error %v", len(paths), total, problems, err)
	}
}
