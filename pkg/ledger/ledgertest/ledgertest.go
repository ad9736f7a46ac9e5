// Package ledgertest writes long ledgers for tests and measurements, and says where a ledger stands.
//
// # Promise
//
// What it writes is what the product leaves after as many calls of several agents: appended through [ledger.Ledger],
// with its chain, its rotation and its layouts, so that [verify.Verify] finds nothing. Each file's changes follow each
// other by their hashes. The same [Shape] gives the same records.
//
// # Non-promise
//
// The contents that the hashes are of do not exist. How many lines a second are written is not promised either; nothing
// is flushed for each record.
package ledgertest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Shape says what is to be written. Zero fields have the defaults of a long life: a tenth of a percent as many intents
// as records, 2,000 files, a session for 250 records, one record a second.
type Shape struct {
	Records     int
	Intents     int
	Paths       int
	Sessions    int
	Layout      ledger.Layout
	SegmentSize int64
	Start       time.Time // of the first record; default so that the last one is of now
	Seed        uint64
	// Policy is what all calls were judged by; "" writes records as earlier versions did.
	Policy string
}

// Intent is the id of the i-th intent.
func Intent(i int) string { return fmt.Sprintf("INT-%03d", i) }

// Path is the i-th file; the lower the number, the more often it is changed.
func Path(i int) string {
	areas := []string{"api", "core", "store", "ui", "docs"}
	return fmt.Sprintf("src/%s/part%02d/file%04d.go", areas[i%len(areas)], i/len(areas)%20, i)
}

// Home is the .orchestration in which the ledger of the workspace at dir stands, or will: beside the tree in a git
// repository, unless one is in the tree.
func Home(dir string) string {
	beside, tree := locate.Beside(dir), filepath.Join(dir, ".orchestration")
	if info, err := os.Lstat(filepath.Join(tree, "agent_trace.jsonl")); beside == "" || err == nil && info.Mode().IsRegular() {
		return tree
	}
	return filepath.Join(beside, ".orchestration")
}

// File is the file in Home that records are appended to in the layout single.
func File(dir string) string { return filepath.Join(Home(dir), "agent_trace.jsonl") }

// Write appends the records to the ledger of the workspace at root, which must have an .orchestration directory.
func Write(ctx context.Context, root *os.Root, s Shape) error {
	if s.Records <= 0 {
		return nil
	}
	w := newWriter(s.withDefaults())
	lost := &lostRecords{}
	l, err := ledger.Open(root, ledger.Options{
		Layout: w.Layout, SegmentSize: w.SegmentSize, Durability: ledger.DurabilityOS, Version: "0.1.0",
		Clock: w.clock, NewID: w.newID, Revision: w.revision, Logger: zerolog.New(lost).Level(zerolog.ErrorLevel),
	})
	if err != nil {
		return err
	}
	for range w.Records {
		l.AppendSoon(w.next())
		if err = ctx.Err(); err != nil || lost.text.Load() != nil {
			break
		}
	}
	return errors.Join(err, l.Flush(context.WithoutCancel(ctx)), l.Close(context.WithoutCancel(ctx)), lost.err())
}

// lostRecords keeps what the ledger logs of records that could not be written.
type lostRecords struct{ text atomic.Pointer[string] }

func (l *lostRecords) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	l.text.CompareAndSwap(nil, &text)
	return len(p), nil
}

func (l *lostRecords) err() error {
	if text := l.text.Load(); text != nil {
		return fmt.Errorf("write the ledger: %s", *text)
	}
	return nil
}

func (s Shape) withDefaults() Shape {
	s.Intents = cmp.Or(s.Intents, max(20, s.Records/1000))
	s.Paths = cmp.Or(s.Paths, 2000)
	s.Sessions = cmp.Or(s.Sessions, max(1, s.Records/250))
	if s.Start.IsZero() {
		s.Start = time.Now().Add(-time.Duration(s.Records) * time.Second)
	}
	return s
}

// writer makes the records, one after the other.
type writer struct {
	Shape
	random   *rand.Rand
	ids      *rand.Rand
	path     *rand.Zipf
	sessions []string
	version  []int // of each file
	written  atomic.Int64
}

func newWriter(s Shape) *writer {
	w := &writer{Shape: s, random: rand.New(rand.NewPCG(s.Seed, 1)), ids: rand.New(rand.NewPCG(s.Seed, 2)), version: make([]int, s.Paths)}
	w.path = rand.NewZipf(w.random, 1.1, 8, uint64(s.Paths-1))
	for range s.Sessions {
		w.sessions = append(w.sessions, w.uuid(w.random))
	}
	return w
}

func (w *writer) clock() time.Time {
	return w.Start.Add(time.Duration(w.written.Load()) * time.Second)
}

func (w *writer) newID() string { return w.uuid(w.ids) }

func (w *writer) uuid(r *rand.Rand) string {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

func (w *writer) revision() string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "commit", w.written.Load()/50)))[:40]
}

// next makes a record. Work goes on in few sessions at a time, each on one intent.
func (w *writer) next() record.Record {
	n := int(w.written.Add(1))
	session := min(w.Sessions-1, n*w.Sessions/w.Records)
	session = max(0, session-w.random.IntN(4))
	r := record.Record{
		Kind: record.KindMutation, IntentID: Intent(session * 7 % w.Intents), Session: w.sessions[session],
		Contributor: record.Contributor{Type: record.ContributorAI, ModelID: "anthropic/claude-opus-4-5"},
		Client:      record.Client{Name: "an agent", Version: "1.4.0"},
	}
	switch p := w.random.IntN(100); {
	case p < 74:
		w.mutate(&r)
	case p < 82:
		w.command(&r)
	case p < 91:
		r.Kind, r.Call = record.KindDecision, "write_to_file"
		r.Decision = &record.Decision{Outcome: "refused", ErrorType: "SCOPE_VIOLATION", Step: 4, Hook: "scope",
			Reason: "the path is outside the scope of the intent", Paths: []string{Path(int(w.path.Uint64()))}}
	case p < 96:
		r.Kind, r.Call = record.KindSelection, "select_active_intent"
	case p < 98:
		r.Kind, r.Call, r.Detail = record.KindLifecycle, "update_intent", map[string]any{"status": "IN_PROGRESS"}
	default:
		r.Kind, r.Call, r.Detail = record.KindRead, "read_file", map[string]any{"path": Path(int(w.path.Uint64()))}
	}
	w.judged(&r)
	return r
}

// judged is what a call was judged by and on.
func (w *writer) judged(r *record.Record) {
	if w.Policy == "" {
		return
	}
	r.Policy = w.Policy
	switch r.Kind {
	case record.KindDecision:
		r.Judged = &record.Judged{Files: []record.JudgedFile{{Kind: "modify", Path: r.Decision.Paths[0]}}}
	case record.KindSelection, record.KindRead:
		r.Judged = &record.Judged{Class: "safe"}
	case record.KindLifecycle:
		r.Judged = &record.Judged{Class: "governance"}
	case record.KindCommand:
		r.Command.Cwd = "."
	}
}

func (w *writer) mutate(r *record.Record) {
	r.Call, r.MutationClass = "edit_file", "INTENT_EVOLUTION"
	if w.random.IntN(4) == 0 {
		r.MutationClass = "AST_REFACTOR"
	}
	r.Class = &record.Class{Declared: r.MutationClass, Computed: r.MutationClass, Evidence: "unproven"}
	files := 1
	if w.random.IntN(12) == 0 {
		r.Call, files = "apply_patch", 2+w.random.IntN(3)
	}
	for range files {
		r.Changes = append(r.Changes, w.change(int(w.path.Uint64())))
	}
}

func (w *writer) command(r *record.Record) {
	r.Kind, r.Call = record.KindCommand, "execute_command"
	r.Command = &record.Command{Command: `go test ./... -run "Test` + fmt.Sprint(w.random.IntN(50)) + `"`, DurationMS: 1 + w.random.Int64N(9000),
		OutputHash: hashOf("output", int(w.written.Load())), Sandbox: "landlock"}
	if w.random.IntN(3) == 0 {
		r.Changes = append(r.Changes, w.change(int(w.path.Uint64())))
	}
}

// change takes a file from one version to the next. Version 0 is no file.
func (w *writer) change(file int) record.Change {
	v := w.version[file]
	w.version[file]++
	c := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: Path(file), Before: change.Version{Hash: hashOf(Path(file), v)}, After: change.Version{Hash: hashOf(Path(file), v+1)},
		},
	}
	c.Before.OID, c.After.OID = c.Before.Hash[7:47], c.After.Hash[7:47]
	if v == 0 {
		c.Op, c.Before.Hash, c.Before.OID = change.Created, "", ""
		c.Hunks = [][4]int{{0, 0, 1, 120}}
		c.Ranges = []record.Range{{StartLine: 1, EndLine: 120, ContentHash: c.After.Hash}}
		return c
	}
	line := 1 + w.random.IntN(40)
	for range 1 + w.random.IntN(2) {
		size := 1 + w.random.IntN(5)
		c.Hunks = append(c.Hunks, [4]int{line, size, line, size})
		c.Ranges = append(c.Ranges, record.Range{StartLine: line, EndLine: line + size - 1, ContentHash: hashOf(Path(file), -v)})
		line += size + 1 + w.random.IntN(30)
	}
	return c
}

func hashOf(text string, n int) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Append(nil, text, n)))
}
