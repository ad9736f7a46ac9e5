package server_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
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
	b.Selects("INT-001")
	b.OK("edit_file", args{"path": "src/a.txt", "old_string": "three", "new_string": "THREE", "intent_id": "INT-001"})
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
	b.Selects("INT-001")
	one := b.OK("write_to_file", args{"path": "src/b.txt", "content": "1\n", "intent_id": "INT-001"}).Str("record_id")
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
	b.Refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "over it\n"})
	b.reads("src/a.txt", "one\ntwo\nthree\n")
}

func (b *bench) hashOf(path string) string {
	b.t.Helper()
	return string(workspace.HashOf([]byte(b.read(path))))
}

// agent makes random changes in work/, where nobody else does.
type agent struct {
	*bench
	r       *rand.Rand
	records []string
	before  []map[string]string // the files before each record
	n       int
}

func (a *agent) files() map[string]string {
	a.t.Helper()
	files := map[string]string{}
	entries := check.Value(os.ReadDir(filepath.Join(a.dir, "work")))(a.t)
	for _, e := range entries {
		files["work/"+e.Name()] = a.read("work/" + e.Name())
	}
	return files
}

func (a *agent) fresh(ending string) string {
	a.n++
	lines := fmt.Sprintf("text %d%s", a.n, ending)
	for range a.r.IntN(6) {
		lines += fmt.Sprintf("line %d%s", a.r.IntN(5), ending)
	}
	return lines
}

// step makes one call; paths are few, so that they change hands.
func (a *agent) step() {
	a.t.Helper()
	files := a.files()
	names := slices.Sorted(maps.Keys(files))
	var free []string
	for i := range 5 {
		if name := fmt.Sprintf("work/%d", i); files[name] == "" {
			free = append(free, name)
		}
	}
	a.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		a.OK("read_file", args{"path": name})
	}
	var id string
	switch kind := a.r.IntN(6); {
	case len(names) == 0 || kind == 0 && len(free) > 0:
		content := args{"path": free[0], "content": a.fresh("\r\n")}
		if r := a.Call("write_to_file", content); !r.Error {
			id = r.Str("record_id")
			break
		}
		// An undo took away what the session had seen there, and the refusal said so.
		id = a.OK("write_to_file", content).Str("record_id")
	case kind == 1:
		id = a.OK("write_to_file", args{"path": names[0], "content": a.fresh("\n")}).Str("record_id")
	case kind == 2:
		id = a.patches("*** Delete File: " + names[0])
	case kind == 3 && len(free) > 0:
		id = a.patches("*** Update File: "+names[0], "*** Move to: "+free[len(free)-1])
	case kind == 4 && len(free) > 0 && len(names) > 1:
		id = a.patches("*** Update File: "+names[0], "*** Move to: "+free[0], "@@", "-"+firstOf(files[names[0]]), "+moved", "*** Delete File: "+names[1])
	default:
		id = a.OK("edit_file", args{"path": names[0], "old_string": firstOf(files[names[0]]), "new_string": a.fresh(""), "expected_replacements": 1}).Str("record_id")
	}
	if id != "" { // an edit to the same is none
		a.records, a.before = append(a.records, id), append(a.before, files)
	}
}

func firstOf(content string) string {
	line, _, _ := strings.Cut(content, "\n")
	return strings.TrimSuffix(line, "\r")
}

// TestUndoGoesBackInTime: where nobody else edits, undoing the last records gives exactly what was before them, undoing
// that undo what was after, and undoing the intent what was at the beginning.
func TestUndoGoesBackInTime(t *testing.T) {
	t.Parallel()
	runs := check.Rounds(12, 150)
	for run := range runs {
		b := undoBench(t)
		a := &agent{bench: b, r: rand.New(rand.NewPCG(uint64(run), 7))}
		for i := range 3 {
			check.Write(t, b.dir, fmt.Sprintf("work/%d", i), a.fresh([]string{"\n", "\r\n"}[i%2]))
		}
		start := a.files()
		for range 4 + a.r.IntN(14) {
			a.step()
			if len(a.records) == 0 || a.r.IntN(4) > 0 {
				continue
			}
			after := a.files()
			back := a.r.IntN(len(a.records))
			p := b.plan(a.records[back:]...)
			check.Must(t, len(p.Conflicts) == 0, "run %d: %+v", run, p.Conflicts)
			if !p.Ready() {
				same(t, run, a.files(), a.before[back])
				continue
			}
			undone := a.carriesOut(p)
			same(t, run, a.files(), a.before[back])
			if a.r.IntN(2) == 0 {
				a.undoes(undone)
				same(t, run, a.files(), after)
			} else {
				a.records, a.before = a.records[:back], a.before[:back]
			}
		}
		p, err := b.server.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"})
		check.Must(t, err == nil && len(p.Conflicts) == 0, "run %d: %v %+v", run, err, p.Conflicts)
		if p.Ready() {
			a.carriesOut(p)
		}
		same(t, run, a.files(), start)
		b.hangUp()
		b.close()
	}
}

func same(t *testing.T, run int, got, want map[string]string) {
	t.Helper()
	check.Must(t, maps.Equal(got, want), "run %d:\n got %q\nwant %q", run, got, want)
}

// TestUndoKeepsEditsFromOutside: an agent and somebody outside the ledger edit one file by turns, never the same block;
// undoing the intent leaves exactly what the other one did.
func TestUndoKeepsEditsFromOutside(t *testing.T) {
	t.Parallel()
	const blocks = 12
	for run := range 12 {
		b := undoBench(t)
		r := rand.New(rand.NewPCG(uint64(run), 8))
		agents, others := make([]string, blocks), make([]string, blocks)
		for i := range blocks {
			agents[i] = fmt.Sprintf("block %d\nof two lines\n", i)
			others[i] = agents[i]
		}
		both := func() string {
			var text strings.Builder
			for i := range blocks {
				text.WriteString([]string{agents[i], others[i]}[i%2] + fmt.Sprintf("between %d\n", i))
			}
			return text.String()
		}
		start := slices.Clone(agents)
		check.Write(t, b.dir, "src/x", both())
		for turn := range 3 + r.IntN(12) {
			text := fmt.Sprintf("turn %d\n", turn)
			if r.IntN(4) == 0 {
				text = ""
			}
			if r.IntN(2) == 0 {
				agents[2*r.IntN(blocks/2)] = text
				b.writes("src/x", both())
			} else {
				others[2*r.IntN(blocks/2)+1] = text
				check.Write(t, b.dir, "src/x", both())
			}
		}
		p, err := b.server.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"})
		check.Must(t, err == nil && len(p.Conflicts) == 0, "run %d: %v %+v", run, err, p.Conflicts)
		if p.Ready() {
			b.carriesOut(p)
		}
		agents = start
		b.reads("src/x", both())
		b.hangUp()
		b.close()
	}
}
