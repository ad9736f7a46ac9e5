package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The story is a small workspace whose ledger always has the same bytes: its clock and its ids are fixed.

const storyIntents = `active_intents:
  - id: INT-001
    name: Build Weather API
    status: IN_PROGRESS
    owned_scope: ["src/**"]
  - id: INT-002
    name: Rename the client
    status: IN_PROGRESS
    owned_scope: ["src/client.ts"]
`

const (
	storySession = "7d4a7a0e-53f5-4d4f-9a4e-0a3f3f6f7a11"
	otherSession = "b3c1f7aa-0c7e-4a3c-8f2e-5d9a1c2b3d4e"
	weatherOne   = "export function weather(city: string) {\n  return fetch(city);\n}\n"
	weatherTwo   = "export function weather(town: string) {\n  return fetch(town);\n}\n"
	clientText   = "export const client = 1;\n"
)

// storyIDs are the ids of the records, in their order.
var storyIDs = []string{
	"1f0c7a52", "2b9e4d10", "3c55a1f7", "4d02be93", "5ea8f36c", "6f714b08", "70cd92e4", "81a63f5b", "92de10c7",
}

func storyID(n int) string {
	return fmt.Sprintf("%s-0000-4000-8000-%012d", storyIDs[n%len(storyIDs)], n)
}

// story writes records, each at its minute.
type story struct {
	root    *os.Root
	records *ledger.Ledger
	images  *kept.Store
	now     time.Time
	told    int
}

func tellStory(dir string) error {
	s, err := newStory(dir)
	if err != nil {
		return err
	}
	for _, tell := range []func() error{s.firstDay, s.secondDay, s.end} {
		if err := tell(); err != nil {
			return err
		}
	}
	return nil
}

func newStory(dir string) (*story, error) {
	for name, text := range map[string]string{".orchestration/active_intents.yaml": storyIntents, "src/weather.ts": weatherTwo, "docs/notes.md": "notes\n"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &story{root: root, images: kept.Open(root, kept.Options{Size: 1 << 20})}
	s.records, err = ledger.Open(root, ledger.Options{
		Version: "1.0.0", Revision: func() string { return "" }, Clock: func() time.Time { return s.now },
		NewID: func() string { s.told++; return storyID(s.told - 1) },
	})
	return s, err
}

func (s *story) end() error {
	return errors.Join(s.records.Close(context.Background()), s.root.Close())
}

func (s *story) at(clock string, r record.Record) error {
	var err error
	if s.now, err = time.Parse("2006-01-02 15:04:05", clock); err != nil {
		return err
	}
	_, err = s.records.Append(context.Background(), r)
	return err
}

// change is a file's change from one text to another; "" is no file.
func (s *story) change(path, before, after string) record.Change {
	c := record.Change{Change: change.Change{Op: change.Modified, Path: path, Hunks: edit.Hunks(before, after)}}
	if before == "" {
		c.Op = change.Created
	} else {
		c.Before.Hash, c.Before.OID = contentHash(before), s.keep(before)
	}
	if after == "" {
		c.Op = change.Deleted
	} else {
		c.After.Hash, c.After.OID = contentHash(after), s.keep(after)
		for _, r := range edit.ChangedRanges(after, c.Hunks) {
			c.Ranges = append(c.Ranges, record.Range{StartLine: r.StartLine, EndLine: r.EndLine, ContentHash: r.ContentHash})
		}
	}
	return c
}

func (s *story) keep(text string) string {
	id := s.records.BlobID([]byte(text))
	s.images.Put(kept.Content{ID: id, Bytes: []byte(text)})
	return id
}

func (s *story) claude(kind record.Kind, call string) record.Record {
	return record.Record{
		Kind: kind, Call: call, IntentID: "INT-001", Session: storySession, Client: record.Client{Name: "claude-code", Version: "2.1.0"},
		Contributor: record.Contributor{Type: record.ContributorAI, ModelID: "anthropic/claude-opus-4-5"},
	}
}

func (s *story) firstDay() error {
	create := s.claude(record.KindMutation, "write_to_file")
	create.MutationClass, create.Changes = "INTENT_EVOLUTION", []record.Change{s.change("src/weather.ts", "", weatherOne)}
	create.Class = &record.Class{Declared: "INTENT_EVOLUTION", Computed: "INTENT_EVOLUTION", Evidence: "unproven"}
	refused := s.claude(record.KindDecision, "write_to_file")
	refused.Decision = &record.Decision{Outcome: "refused", ErrorType: "SCOPE_VIOLATION", Hook: "scope", Paths: []string{"docs/notes.md"},
		Reason: "INT-001 is not authorized to edit [docs/notes.md]."}
	test := s.claude(record.KindCommand, "execute_command")
	test.Command = &record.Command{Command: "npm test", Cwd: ".", ExitCode: 1, DurationMS: 2300, Sandbox: "full", OutputHash: contentHash("1 failed")}
	rename := s.claude(record.KindMutation, "apply_diff")
	rename.MutationClass, rename.Changes = "AST_REFACTOR", []record.Change{s.change("src/weather.ts", weatherOne, weatherTwo)}
	rename.Class = &record.Class{Declared: "AST_REFACTOR", Computed: "AST_REFACTOR", Evidence: "proven-local"}
	for _, r := range []struct {
		at     string
		record record.Record
	}{
		{"2026-02-18 18:30:00", s.claude(record.KindSelection, "select_active_intent")}, {"2026-02-18 18:31:10", create},
		{"2026-02-18 18:32:45", refused}, {"2026-02-18 18:34:02", test}, {"2026-02-18 18:40:30", rename},
	} {
		if err := s.at(r.at, r.record); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) secondDay() error {
	base := record.Record{
		Kind: record.KindMutation, Call: "apply_patch", IntentID: "INT-002", Session: otherSession,
		Client: record.Client{Name: "cursor", Version: "3.2"}, Contributor: record.Contributor{Type: record.ContributorAI},
	}
	patch := base
	patch.MutationClass, patch.Changes = "INTENT_EVOLUTION", []record.Change{s.change("src/client.ts", "", clientText)}
	patch.Class = &record.Class{Declared: "AST_REFACTOR", Computed: "INTENT_EVOLUTION", Evidence: "unproven"}
	asked := base
	asked.Kind, asked.Call = record.KindDecision, "write_to_file"
	asked.Decision = &record.Decision{Outcome: "asked", ErrorType: "APPROVAL_REQUIRED", Approval: "apr_7Q2M", Paths: []string{".vscode/tasks.json"}}
	denied := asked
	denied.Contributor = record.Contributor{Type: record.ContributorHuman}
	denied.Decision = &record.Decision{Outcome: "denied", Approval: "apr_7Q2M", Paths: []string{".vscode/tasks.json"}, Principal: "ada", Reason: "not needed"}
	undo := base
	undo.Call, undo.Session, undo.Client = "undo", "", record.Client{}
	undo.Contributor = record.Contributor{Type: record.ContributorHuman}
	undo.MutationClass, undo.Changes = "INTENT_EVOLUTION", []record.Change{s.change("src/client.ts", clientText, "")}
	undo.Detail = map[string]any{"undoes": []any{storyID(5)}}
	for _, r := range []struct {
		at     string
		record record.Record
	}{
		{"2026-02-19 09:05:00", patch}, {"2026-02-19 09:06:30", asked}, {"2026-02-19 09:07:12", denied}, {"2026-02-19 09:20:00", undo},
	} {
		if err := s.at(r.at, r.record); err != nil {
			return err
		}
	}
	return nil
}

func contentHash(text string) string { return string(workspace.HashOf([]byte(text))) }

// storyScript is the script command "story": it makes the workspace of the story in the current directory.
func storyScript(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) > 0 {
		ts.Fatalf("usage: story")
	}
	ts.Check(tellStory(ts.MkAbs(".")))
}

// checkLedger ends a test: the ledger must be whole.
func checkLedger(t *testing.T, dir string) {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	report, err := verify.Verify(t.Context(), root)
	check.That(t, err == nil && len(report.Problems) == 0, "the ledger ends with %v, %v", report.Problems, err)
}

// toldStory is a directory of its own with the story, and a home of its own.
func toldStory(t *testing.T) string {
	t.Helper()
	home(t)
	dir := t.TempDir()
	check.OK(t, tellStory(dir))
	return dir
}
