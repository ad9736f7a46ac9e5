package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

// undoBench is a workspace with the intents of intentsYAML, and INT-005 selected, whose scope is everything.
func undoBench(t *testing.T) *bench {
	t.Helper()
	b, _ := start(t, newWorkspace(t)).under("INT-005")
	return b
}

// writes replaces a file as an agent does, and gives the record's id.
func (b *bench) writes(path, content string) string {
	b.t.Helper()
	b.Call("read_file", args{"path": path})
	return b.OK("write_to_file", args{"path": path, "content": content}).Str("record_id")
}

func (b *bench) patches(lines ...string) string {
	b.t.Helper()
	return b.OK("apply_patch", args{"patch": patch(lines...)}).Str("record_id")
}

func (b *bench) plan(records ...string) *undo.Plan {
	b.t.Helper()
	return check.Value(b.server.PlanUndo(b.t.Context(), undo.Request{Records: records}))(b.t)
}

// undoes demands that records can be undone, undoes them, and gives the undo's record.
func (b *bench) undoes(records ...string) string {
	b.t.Helper()
	return b.carriesOut(b.plan(records...))
}

func (b *bench) carriesOut(p *undo.Plan) string {
	b.t.Helper()
	check.Must(b.t, p.Ready(), "not ready: %+v", p)
	id, _, err := b.server.Undo(b.t.Context(), p)
	check.OK(b.t, err)
	return id
}

func (b *bench) reads(path, want string) {
	b.t.Helper()
	check.Equal(b.t, b.read(path), want, "%s holds", path)
}

func (b *bench) gone(path string) {
	b.t.Helper()
	_, err := os.Lstat(filepath.Join(b.dir, path))
	check.That(b.t, err != nil, "%s is there", path)
}

func (b *bench) entry(id string) record.Entry {
	b.t.Helper()
	found, err := b.server.Ledger().Query(b.t.Context(), record.Filter{ID: id})
	check.Must(b.t, err == nil && len(found.Entries) == 1, "record %s: %v, %d found", id, err, len(found.Entries))
	return found.Entries[0]
}

func TestUndoRestoresExactly(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"CRLF":             "one\r\ntwo\r\n",
		"UTF-8 mark":       "\xef\xbb\xbfone\n",
		"UTF-16":           "\xff\xfeo\x00n\x00e\x00\n\x00",
		"Latin-1":          "caf\xe9\n",
		"mixed endings":    "one\r\ntwo\nthree\rfour",
		"no final newline": "one",
		"empty":            "",
		"binary":           "\x00\x01\x02\xff",
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			b := undoBench(t)
			check.Write(t, b.dir, "src/x", content)
			check.OK(t, os.Chmod(filepath.Join(b.dir, "src/x"), 0o755))
			b.Call("read_file", args{"path": "src/x"})
			hash := b.hashOf("src/x")
			id := b.OK("write_to_file", args{"path": "src/x", "content": "all new\n", "expected_content_hash": hash}).Str("record_id")
			b.undoes(id)
			b.reads("src/x", content)
			if info, err := os.Stat(filepath.Join(b.dir, "src/x")); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestUndoOfCreatedDeletedMoved(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	created := b.writes("src/new/file.txt", "new\n")
	b.undoes(created)
	b.gone("src/new/file.txt")

	b.OK("read_file", args{"path": "src/a.txt"})
	deleted := b.patches("*** Delete File: src/a.txt")
	b.undoes(deleted)
	b.reads("src/a.txt", "one\ntwo\nthree\n")

	moved := b.patches("*** Update File: src/a.txt", "*** Move to: docs/b.txt", "@@", "-two", "+TWO")
	b.undoes(moved)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	b.gone("docs/b.txt")

	renamed := b.patches("*** Update File: src/a.txt", "*** Move to: docs/b.txt")
	b.undoes(renamed)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	b.gone("docs/b.txt")
}

func TestUndoRecord(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	e := b.entry(b.undoes(id))
	if e.Kind != record.KindMutation || e.Call != "undo" || e.IntentID != "INT-005" || e.Contributor.Type != record.ContributorHuman || e.Session != "" {
		t.Errorf("%s", e.Raw)
	}
	ids, _ := e.Detail["undoes"].([]any)
	check.That(t, len(ids) == 1 && ids[0] == id, "detail %v, want %s", e.Detail, id)
	c := e.Changes[0]
	check.That(t, c.Path == "src/a.txt" && c.Before.OID != "" && c.After.OID != "" && len(c.Hunks) == 1 && len(c.Ranges) == 1, "%+v", c)
}

func TestUndoUnderAnIntentThatIsOver(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{
		"done":     strings.Replace(intentsYAML, "id: INT-005\n    name: Everything\n    status: IN_PROGRESS", "id: INT-005\n    name: Everything\n    status: DONE", 1),
		"gone":     strings.Replace(intentsYAML, "INT-005", "INT-006", 1),
		"narrower": strings.Replace(intentsYAML, `["**"]`, `["other/**"]`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			b := undoBench(t)
			id := b.writes("src/a.txt", "other\n")
			check.Must(t, yaml != intentsYAML, "the intents are the same")
			check.Write(t, b.dir, ".orchestration/active_intents.yaml", yaml)
			e := b.entry(b.undoes(id))
			b.reads("src/a.txt", "one\ntwo\nthree\n")
			check.Equal(t, e.IntentID, "INT-005", "recorded under")
			check.Equal(t, strings.Contains(string(e.Raw), "out of the scope of INT-005"), (name == "narrower"), "noted")
		})
	}
}

func TestUndoIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content string
		code          refusal.Code
	}{
		"ignored": {".intentignore", "src/a.txt\n", refusal.IntentignorePathBlocked},
		"secret":  {".intentignore", "secret:src/a.txt\n", refusal.IntentignorePathBlocked},
		"unclear": {".intentignore", "intent:\n", refusal.IntentsUnreadable},
		"stale":   {"src/a.txt", "by somebody in between\n", refusal.StaleFile},
	} {
		t.Run(name, func(t *testing.T) {
			b := undoBench(t)
			p := b.plan(b.writes("src/a.txt", "other\n"))
			check.Write(t, b.dir, c.file, c.content)
			before := b.read("src/a.txt")
			_, _, err := b.server.Undo(t.Context(), p)
			r, ok := refusal.As(err)
			check.Must(t, ok && r.Code() == c.code, "%v, want %s", err, c.code)
			b.reads("src/a.txt", before)
		})
	}
}

func TestUndoMergesWhatCameAfter(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Write(t, b.dir, "src/x.txt", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n")
	first := b.writes("src/x.txt", "1\r\nTWO\r\n3\r\n4\r\n5\r\n6\r\n7\r\n")
	b.writes("src/x.txt", "1\r\nTWO\r\n3\r\n4\r\nFIVE\r\n6\r\n7\r\n")
	check.Write(t, b.dir, "src/x.txt", "1\r\nTWO\r\n3\r\n4\r\nFIVE\r\n6\r\n7\r\n8 by hand\r\n")
	p := b.plan(first)
	check.That(t, len(p.Files) == 1 && p.Files[0].Merged, "%+v", p.Files)
	b.carriesOut(p)
	b.reads("src/x.txt", "1\r\n2\r\n3\r\n4\r\nFIVE\r\n6\r\n7\r\n8 by hand\r\n")
}

func TestUndoConflict(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	first := b.writes("src/a.txt", "one\nTWO\nthree\n")
	second := b.writes("src/a.txt", "one\nTWO, again\nthree\n")
	third := b.writes("src/a.txt", "zero\none\nTWO, again\nthree\n")
	p := b.plan(first)
	check.Must(t, !p.Ready() && len(p.Files) == 0 && len(p.Conflicts) == 1, "%+v", p)
	c := p.Conflicts[0]
	if c.Path != "src/a.txt" || c.Record != first || len(c.Places) != 1 || c.Places[0].Line != 3 ||
		!slices.Equal(c.Places[0].Now, []string{"TWO, again"}) || !slices.Equal(c.Places[0].Wanted, []string{"two"}) ||
		c.Places[0].By == nil || c.Places[0].By.Record != second {
		t.Errorf("%+v", c)
	}
	check.That(t, len(c.Since) == 2 && c.Since[0].Record == third && c.Since[1].Record == second, "since %+v", c.Since)
	_, _, err := b.server.Undo(t.Context(), p)
	check.That(t, err != nil, "a plan with conflicts was carried out")
	b.reads("src/a.txt", "zero\none\nTWO, again\nthree\n")
	// Both together go.
	b.undoes(first, second)
	b.reads("src/a.txt", "zero\none\ntwo\nthree\n")
}

func TestUndoConflictWithSomebodyOutside(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.writes("src/a.txt", "one\nTWO\nthree\n")
	created := b.writes("src/new.txt", "new\n")
	deleted := func() string {
		b.writes("src/del.txt", "del\n")
		return b.patches("*** Delete File: src/del.txt")
	}()
	binary := b.writes("src/bin.txt", "text\n")
	check.Write(t, b.dir, "src/a.txt", "one\nby hand\nthree\n")
	check.Write(t, b.dir, "src/new.txt", "new\nby hand\n")
	check.Write(t, b.dir, "src/del.txt", "made anew\n")
	check.Write(t, b.dir, "src/bin.txt", "\x00\x01")
	for id, want := range map[string]string{
		id: "the same lines have changed since", created: "created by the record and has changed since",
		deleted: "another file stands", binary: "created by the record and has changed since",
	} {
		p := b.plan(id)
		if len(p.Conflicts) != 1 || !strings.Contains(p.Conflicts[0].Reason, want) || len(p.Conflicts[0].Since) != 0 {
			t.Errorf("%+v, want %s", p.Conflicts, want)
			continue
		}
		for _, place := range p.Conflicts[0].Places {
			check.That(t, place.By == nil, "by %+v", place.By)
		}
	}
	check.OK(t, os.Remove(filepath.Join(b.dir, "src/a.txt")))
	if p := b.plan(id); len(p.Conflicts) != 1 || p.Conflicts[0].Reason != "the file is gone" {
		t.Errorf("%+v", p.Conflicts)
	}
}

// TestUndoAllOrNone: one conflict among several files keeps all as they are.
func TestUndoAllOrNone(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.patches("*** Add File: src/1.txt", "+1", "*** Add File: src/2.txt", "+2")
	check.Write(t, b.dir, "src/2.txt", "2\nby hand\n")
	p := b.plan(id)
	_, _, err := b.server.Undo(t.Context(), p)
	check.That(t, err != nil && !p.Ready(), "%v %+v", err, p)
	b.reads("src/1.txt", "1\n")
}

func TestUndoFollowsLaterMoves(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	id := b.writes("src/a.txt", "ONE\ntwo\nthree\n")
	moved := b.patches("*** Update File: src/a.txt", "*** Move to: docs/b.txt", "@@", "-three", "+THREE")
	b.undoes(id)
	b.reads("docs/b.txt", "one\ntwo\nTHREE\n")
	b.OK("read_file", args{"path": "docs/b.txt"})
	on := b.patches("*** Update File: docs/b.txt", "*** Move to: docs/c.txt")
	p := b.plan(moved)
	check.That(t, len(p.Conflicts) == 1 && strings.Contains(p.Conflicts[0].Reason, "moved on from docs/b.txt to docs/c.txt"), "%+v", p.Conflicts)
	b.undoes(moved, on)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	b.gone("docs/b.txt")
	b.gone("docs/c.txt")
}

// TestUndoOfAPathThatChangedHands: files that took each other's places go back each to its own.
func TestUndoOfAPathThatChangedHands(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Write(t, b.dir, "src/b.txt", "b\n")
	b.OK("read_file", args{"path": "src/b.txt"})
	ids := []string{
		b.patches("*** Delete File: src/b.txt"),
		b.patches("*** Update File: src/a.txt", "*** Move to: src/b.txt"),
		b.writes("src/a.txt", "new a\n"),
	}
	b.undoes(ids...)
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	b.reads("src/b.txt", "b\n")
}
