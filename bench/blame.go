package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	blamedLines   = 2000
	blamedRecords = 500
	// outsideEvery is after how many records somebody else changes the file, and commits.
	outsideEvery = 50
)

// measureBlame blames a file of 2,000 lines with 500 records on it, in a git repository with as many commits as somebody
// else made changes. The ledger has other records too; the time that reading it takes stands in a row of its own.
func measureBlame(s *suite) {
	dir := s.workspace(1)
	b := &blamed{suite: s, dir: dir, trace: filepath.Join(dir, ".orchestration", "agent_trace.jsonl"), images: map[string][]byte{}}
	s.atEnd(func() error { return os.RemoveAll(filepath.Dir(b.trace)) })
	b.make()
	root := must(os.OpenRoot(dir))
	s.atEnd(root.Close)
	records := must(ledger.Open(root, ledger.Options{}))
	s.atEnd(func() error { return records.Close(s.ctx) })
	w := blame.Workspace{Root: root, Ledger: records}
	cached := w
	cached.Kept = b.image
	ask := func(w blame.Workspace) action {
		return timed(func() {
			if result := must(w.File(s.ctx, blamedPath)); len(result.Lines) != blamedLines {
				check(fmt.Errorf("%d lines were answered", len(result.Lines)))
			}
		})
	}
	query := timed(func() { must(records.Query(s.ctx, record.Filter{Path: blamedPath, Kinds: record.ChangeKinds()})) })
	bare := timed(func() { check(exec.CommandContext(s.ctx, "git", "-C", dir, "rev-parse", "HEAD").Run()) })
	taken := s.interleave(pick(s.short, 3, 30), ask(cached), ask(w), query, bare)
	name := fmt.Sprintf("blame of %s lines with %d records, %s records in the ledger", thousands(blamedLines), blamedRecords, thousands(int64(s.records)))
	s.add(
		atMost(name, ms(taken[0].p50()), 50, milliseconds,
			fmt.Sprintf("%s; of it the ledger's query %s; one git process that does nothing: %s", taken[0], taken[2], taken[3])),
		atMost("the same without kept contents", ms(taken[1].p50()), 50, milliseconds, taken[1].String()),
	)
}

const blamedPath = "src/blamed.go"

type blamed struct {
	*suite
	dir    string
	trace  string
	lines  []string
	images map[string][]byte
}

func (b *blamed) image(oid string) ([]byte, bool) { content, ok := b.images[oid]; return content, ok }

func (b *blamed) content() []byte { return []byte(strings.Join(b.lines, "\n") + "\n") }

func (b *blamed) make() {
	b.writeLedger(b.dir, b.records, "")
	for i := range blamedLines {
		b.lines = append(b.lines, fmt.Sprintf("\tvalue%d := compute(%d)", i, i%97))
	}
	b.git("init", "-q")
	writeFile(filepath.Join(b.dir, ".git", "info", "exclude"), ".orchestration\n")
	file := must(os.OpenFile(b.trace, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644))
	for i := range blamedRecords {
		if i%outsideEvery == 0 {
			b.change(i*13, fmt.Sprintf("\toutside%d := somebody(else)", i))
			b.commit()
		}
		must(file.Write(append(b.record(i), '\n')))
	}
	b.commit()
	check(file.Close())
}

// change writes four lines.
func (b *blamed) change(at int, text string) {
	for k := range 4 {
		b.lines[(at+k)%blamedLines] = fmt.Sprintf("%s // %d", text, k)
	}
}

func (b *blamed) record(i int) []byte {
	before := b.content()
	b.change(i*31, fmt.Sprintf("\trecord%d := change(of, a, line)", i))
	after := b.content()
	oid := gitdir.New(b.dir).BlobID
	c := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: blamedPath, Before: change.Version{Hash: string(workspace.HashOf(before)), OID: oid(before)}, After: change.Version{Hash: string(workspace.HashOf(after)), OID: oid(after)}, Hunks: edit.Hunks(string(before), string(after)),
		},
	}
	for _, r := range edit.ChangedRanges(string(after), c.Hunks) {
		c.Ranges = append(c.Ranges, record.Range(r))
	}
	c.Mark(edit.Lines(string(after)))
	b.images[c.Before.OID], b.images[c.After.OID] = before, after
	at := time.Now().Add(time.Duration(i-blamedRecords) * time.Second)
	return must(record.Encode(record.Entry{ID: uuid.NewString(), Time: at, ToolVersion: "bench", Record: record.Record{
		Kind: record.KindMutation, IntentID: intentID(0), Call: "edit_file", Contributor: record.Contributor{Type: record.ContributorAI},
		Changes: []record.Change{c}}}))
}

func (b *blamed) commit() {
	writeFile(filepath.Join(b.dir, filepath.FromSlash(blamedPath)), string(b.content()))
	b.git("add", "-A")
	b.git("commit", "-q", "--allow-empty", "-m", "work")
}

func (b *blamed) git(args ...string) {
	args = append([]string{"-c", "user.name=b", "-c", "user.email=b@example.com", "-c", "commit.gpgsign=false"}, args...)
	if out, err := b.command(b.dir, []string{"GIT_CONFIG_NOSYSTEM=1"}, "git", args...).CombinedOutput(); err != nil {
		check(fmt.Errorf("git %v: %w: %s", args, err, bytes.TrimSpace(out)))
	}
}
