package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
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
func measureBlame(ctx context.Context, s *suite) ([]Row, error) {
	dir, err := s.workspace(1)
	if err != nil {
		return nil, err
	}
	b := &blamed{ctx: ctx, s: s, dir: dir, trace: filepath.Join(dir, ".orchestration", "agent_trace.jsonl")}
	if err := b.make(); err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Dir(b.trace))
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	records, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		return nil, err
	}
	defer records.Close(ctx)
	w := blame.Workspace{Root: root, Ledger: records}
	cached := w
	cached.Images = b.image
	ask := func(w blame.Workspace) action {
		return timed(func() error {
			result, err := w.File(ctx, blamedPath)
			if err == nil && len(result.Lines) != blamedLines {
				err = fmt.Errorf("%d lines were answered", len(result.Lines))
			}
			return err
		})
	}
	query := timed(func() error {
		_, err := records.Query(ctx, ledger.Filter{Path: blamedPath, Kinds: ledger.ChangeKinds()})
		return err
	})
	bare := timed(func() error { return exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "HEAD").Run() })
	taken, err := interleave(ctx, pick(s.short, 3, 30), ask(cached), ask(w), query, bare)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("blame of %s lines with %d records, %s records in the ledger", thousands(blamedLines), blamedRecords, thousands(int64(s.records)))
	return []Row{
		atMost(name, ms(taken[0].p50()), 50, milliseconds,
			fmt.Sprintf("%s; of it the ledger's query %s; one git process that does nothing: %s", taken[0], taken[2], taken[3])),
		atMost("the same without kept contents", ms(taken[1].p50()), 50, milliseconds, taken[1].String()),
	}, nil
}

const blamedPath = "src/blamed.go"

type blamed struct {
	ctx    context.Context
	s      *suite
	dir    string
	trace  string
	lines  []string
	images map[string][]byte
}

func (b *blamed) image(oid string) ([]byte, bool) { content, ok := b.images[oid]; return content, ok }

func (b *blamed) content() []byte { return []byte(strings.Join(b.lines, "\n") + "\n") }

func (b *blamed) make() error {
	if err := writeLedger(b.ctx, b.dir, b.s.records); err != nil {
		return err
	}
	b.images = map[string][]byte{}
	for i := range blamedLines {
		b.lines = append(b.lines, fmt.Sprintf("\tvalue%d := compute(%d)", i, i%97))
	}
	if err := b.git("init", "-q"); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(b.dir, ".git", "info", "exclude"), ".orchestration\n"); err != nil {
		return err
	}
	file, err := os.OpenFile(b.trace, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	for i := range blamedRecords {
		if i%outsideEvery == 0 {
			b.change(i*13, fmt.Sprintf("\toutside%d := somebody(else)", i))
			if err := b.commit(); err != nil {
				return err
			}
		}
		line, err := b.record(i)
		if err != nil {
			return err
		}
		if _, err := file.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return errors.Join(b.commit(), file.Close())
}

// change writes four lines.
func (b *blamed) change(at int, text string) {
	for k := range 4 {
		b.lines[(at+k)%blamedLines] = fmt.Sprintf("%s // %d", text, k)
	}
}

func (b *blamed) record(i int) ([]byte, error) {
	before := b.content()
	b.change(i*31, fmt.Sprintf("\trecord%d := change(of, a, line)", i))
	after := b.content()
	oid := gitdir.New(b.dir).BlobID
	c := ledger.Change{
		Change: change.Change{
			Op: change.Modified, Path: blamedPath, Before: change.Version{Hash: string(workspace.HashOf(before)), OID: oid(before)}, After: change.Version{Hash: string(workspace.HashOf(after)), OID: oid(after)}, Hunks: edit.Hunks(string(before), string(after)),
		},
	}
	for _, r := range edit.ChangedRanges(string(after), c.Hunks) {
		c.Ranges = append(c.Ranges, ledger.Range(r))
	}
	c.Mark(edit.Lines(string(after)))
	b.images[c.Before.OID], b.images[c.After.OID] = before, after
	at := time.Now().Add(time.Duration(i-blamedRecords) * time.Second)
	return ledger.Encode(ledger.Entry{ID: uuid.NewString(), Time: at, ToolVersion: "bench", Record: ledger.Record{
		Kind: ledger.KindMutation, IntentID: intentID(0), Call: "edit_file", Contributor: ledger.Contributor{Type: ledger.ContributorAI},
		Changes: []ledger.Change{c}}})
}

func (b *blamed) commit() error {
	if err := writeFile(filepath.Join(b.dir, filepath.FromSlash(blamedPath)), string(b.content())); err != nil {
		return err
	}
	return errors.Join(b.git("add", "-A"), b.git("commit", "-q", "--allow-empty", "-m", "work"))
}

func (b *blamed) git(args ...string) error {
	cmd := exec.CommandContext(b.ctx, "git", append([]string{"-c", "user.name=b", "-c", "user.email=b@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir, cmd.Env = b.dir, b.s.environment("GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return nil
}
