package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestUndoOfUndo(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	undone := b.undoes(id)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	p := b.plan(id)
	check.That(t, !p.Ready() && len(p.Already) == 1 && p.Already[0] == (undo.Undone{Record: id, By: undone}) && len(p.Conflicts) == 0, "%+v", p)
	redone := b.undoes(undone)
	b.reads("src/a.txt", "ONE\ntwo\nthree\n")
	again := b.undoes(id)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	if p := b.plan(redone, id); p.Ready() || len(p.Files) != 0 {
		t.Errorf("%+v", p)
	}
	// Somebody puts back the content with git: the record stands again, whatever the ledger says.
	check.Write(t, b.dir, "src/a.txt", "ONE\ntwo\nthree\n")
	b.undoes(id)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	_ = again
}

func TestUndoIntent(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	kept := b.undoes(b.writes("src/taken-back.txt", "x\n"))
	b.writes("src/new.txt", "new\n")
	b.selects("INT-001")
	b.ok("edit_file", args{"path": "src/a.txt", "old_string": "three", "new_string": "THREE", "intent_id": "INT-001"})
	p, err := b.server.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"})
	check.Must(t, err == nil && len(p.Records) == 2 && !slices.Contains(p.Records, kept), "%v %+v", err, p)
	all := b.carriesOut(p)
	b.reads("src/a.txt", "one\ntwo\nTHREE\n")
	b.gone("src/new.txt")
	if p, err = b.server.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"}); err != nil || len(p.Records) != 0 || p.Ready() {
		t.Fatalf("%v %+v", err, p)
	}
	b.undoes(all)
	b.reads("src/a.txt", "ONE\ntwo\nTHREE\n")
	b.reads("src/new.txt", "new\n")
}

func TestUndoRequests(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	five := b.writes("src/a.txt", "5\n")
	b.selects("INT-001")
	one := b.ok("write_to_file", args{"path": "src/b.txt", "content": "1\n", "intent_id": "INT-001"}).str("record_id")
	selection := check.Value(b.server.Ledger().Query(t.Context(), record.Filter{Kinds: []record.Kind{record.KindSelection}}))(t)
	for _, c := range []struct {
		records []string
		want    error
	}{
		{[]string{five, one}, undo.ErrIntents}, {[]string{"1234567"}, undo.ErrNoRecord}, {[]string{"zzzzzzzzz"}, undo.ErrNoRecord},
		{[]string{"00000000-0000"}, undo.ErrNoRecord}, {[]string{selection.Entries[0].ID}, undo.ErrNoRecord},
	} {
		_, err := b.server.PlanUndo(t.Context(), undo.Request{Records: c.records})
		check.That(t, errors.Is(err, c.want), "%v: %v, want %v", c.records, err, c.want)
	}
	p := b.plan(strings.ToUpper(five[:8]), five)
	check.That(t, len(p.Records) == 1 && p.Records[0] == five, "%+v", p)
}

func TestUndoWithoutKeptContents(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Git(t, b.dir, "add", "src/a.txt")
	inGit := b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	b.writes("src/b.txt", "first\n")
	nowhere := b.writes("src/b.txt", "second\n")
	forged := b.writes("src/a.txt", "ONE\nTWO\nthree\n")
	b.plan(forged) // waits for the images
	check.OK(t, os.RemoveAll(filepath.Join(b.dir, ".orchestration/cache")))
	p := b.plan(nowhere)
	check.That(t, len(p.Conflicts) == 1 && strings.Contains(p.Conflicts[0].Reason, "no longer kept, and git does not have it"), "%+v", p.Conflicts)
	// Both records of a.txt need only what was before the first, which git has.
	b.undoes(inGit, forged)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
}

// TestUndoBelievesNoImage: what somebody puts into the cache is held against the record's SHA-256.
func TestUndoBelievesNoImage(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	asked := 0
	source := undo.Source{Files: b.server.Workspace(), Ledger: b.server.Ledger(), Largest: 1 << 20, Kept: "at most 1MiB", Contents: func(string) ([]byte, bool) {
		asked++
		return []byte("a collision\n"), true
	}}
	p, err := source.Plan(t.Context(), undo.Request{Records: []string{id}})
	check.That(t, err == nil && asked != 0 && len(p.Conflicts) == 1 && strings.Contains(p.Conflicts[0].Reason, "no longer kept"),
		"%v, asked %d times, %+v", err, asked, p)
}

// TestUndoMakesOtherSessionsStale: who saw the file before the undo cannot overwrite it.
func TestUndoMakesOtherSessionsStale(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	b.plan(id) // waits until the contents are kept
	other := start(t, b.dir)
	p := check.Value(other.server.PlanUndo(t.Context(), undo.Request{Records: []string{id}}))(t)
	_, _, err := other.server.Undo(t.Context(), p)
	check.OK(t, err)
	check.OK(t, other.server.Close())
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "over it\n"})
	b.reads("src/a.txt", "one\ntwo\nthree\n")
}

func (b *bench) hashOf(path string) string {
	b.t.Helper()
	return string(workspace.HashOf([]byte(b.read(path))))
}
