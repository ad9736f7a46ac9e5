package ledger_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const indexPath = ".orchestration/cache/index"

// chaos is a ledger to which random things happen. Whatever they are, a query through the index must give the records
// that a plain scan gives.
type chaos struct {
	*workspace
	r       *rand.Rand
	kept    *ledger.Ledger // open all along
	intents int
	seed    uint64
}

func TestQueriesThroughTheIndexAgreeWithAScan(t *testing.T) {
	rounds, seeds := check.Rounds(14, 200), check.Rounds(1, 20)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorkspace(t)
			w.git("init", "-q")
			w.write(".gitattributes", locate.GitAttributes)
			w.write(".gitignore", ".orchestration/state/\n.orchestration/cache/\n")
			w.commit("start")
			c := &chaos{workspace: w, r: rand.New(rand.NewPCG(uint64(seed), 9)), intents: 6}
			c.kept = w.open(ledger.Options{})
			c.append()
			for range rounds {
				c.happen()
				c.compare(c.kept)
				if c.r.IntN(3) == 0 {
					c.compare(w.open(ledger.Options{}))
				}
			}
			// What was put there by hand stays; the index must not have made any of it.
			w.problems = nil
			for _, p := range w.verify().Problems {
				w.problems = append(w.problems, p.Kind)
			}
		})
	}
}

func (c *chaos) happen() {
	things := []func(){
		c.append, c.append, c.append, c.appendByAnother, c.addLines, c.duplicate, c.branch, c.branch, c.rewrite,
		c.dropIndex, c.damageIndex, c.damageIndex, c.swapIndex, c.tear, c.twoProcesses, c.forbidIndex,
	}
	things[c.r.IntN(len(things))]()
}

// append writes records in one of the layouts, some through rotations.
func (c *chaos) append() {
	c.seed++
	shape := ledgertest.Shape{
		Records: 1 + c.r.IntN(check.Rounds(150, 400)), Intents: c.intents, Paths: 12, Sessions: 1 + c.r.IntN(4), Seed: c.seed,
		Layout: []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions}[c.r.IntN(2)],
		Start:  time.Date(2026, 1, 1, c.r.IntN(20), 0, 0, 0, time.UTC),
	}
	if c.r.IntN(2) == 0 {
		shape.SegmentSize = 100_000
	}
	check.OK(c.t, ledgertest.Write(context.Background(), c.root, shape))
}

func (c *chaos) appendByAnother() {
	for range c.r.IntN(5) {
		appendOne(c.t, c.kept, mutation(ledgertest.Intent(c.r.IntN(c.intents)), ledgertest.Path(c.r.IntN(12))))
	}
}

// lines that this package did not write: other tools', garbage, forms that it never writes.
func (c *chaos) addLines() {
	path, intent := ledgertest.Path(c.r.IntN(12)), ledgertest.Intent(c.r.IntN(c.intents))
	lines := []string{
		fmt.Sprintf(`{"version":"0.1.0","id":"x%d","timestamp":"2026-01-01T14:30:00Z","files":[{"path":%q}]}`, c.r.Int(), path),
		"<<<<<<< HEAD", "", "   ", "\r",
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"y%d","timestamp":"2026-01-01T14:30:00.000Z","intent_id":%q,"files":[],"tool":{},"metadata":{}}`, c.r.Int(), intent),
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"z%d","timestamp":"2026-01-01T14:30:00.000Z", "intent_id" : %q}`, c.r.Int(), intent),
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"e%d","timestamp":"2026-01-01T14:30:00.000Z","intent\u005fid":%q}`, c.r.Int(), intent),
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"f%d","timestamp":"2026-01-01T14:30:00.000Z","files":[{"path":"src\/%s"}]}`, c.r.Int(), strings.TrimPrefix(path, "src/")),
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"d%d","timestamp":"2026-01-01T14:30:00.000Z","metadata":{"orchestra-mcp":{"kind":"decision","decision":{"outcome":"x","paths":["a\"b",%q]}}}}`, c.r.Int(), path),
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"k%d","timestamp":"2026-01-01T14:30:00.000Z","intent_id":"A","intent_id":%q}`, c.r.Int(), intent),
		fmt.Sprintf(`{"prev":[],"version":"0.1.0","id":"n%d","timestamp":"2026-01-01T14:30:00.000Z","intent_id":"A","metadata":{"orchestra-mcp":{"kind":"read","detail":{"intent_id":%q,"kind":"mutation","path":%q}}}}`, c.r.Int(), intent, path),
	}
	text := ""
	for range 1 + c.r.IntN(6) {
		text += lines[c.r.IntN(len(lines))] + "\n"
	}
	c.edit(func(content string) string { return content + text })
}

// edit changes one of the files that are appended to.
func (c *chaos) edit(change func(string) string) {
	names, _ := filepath.Glob(c.path(".orchestration/trace/*.jsonl"))
	names = append(names, c.path(tracePath))
	name := names[c.r.IntN(len(names))]
	content, _ := os.ReadFile(name)
	check.OK(c.t, os.WriteFile(name, []byte(change(string(content))), 0o644))
}

func (c *chaos) duplicate() {
	c.edit(func(content string) string {
		lines := strings.SplitAfter(content, "\n")
		return content + lines[c.r.IntN(len(lines))]
	})
}

// rewrite takes lines out, or changes their order, as a bad merge would; a few records are lost, also to the scan.
func (c *chaos) rewrite() {
	c.edit(func(content string) string {
		lines := strings.SplitAfter(content, "\n")
		if len(lines) < 4 {
			return content
		}
		a, b := c.r.IntN(len(lines)-2), c.r.IntN(len(lines)-2)
		if c.r.IntN(2) == 0 {
			lines[a], lines[b] = lines[b], lines[a]
		} else {
			lines = slices.Delete(lines, a, a+1)
		}
		return strings.Join(lines, "")
	})
}

// branch lets git merge what two branches appended.
func (c *chaos) branch() {
	c.commitAll()
	c.seed++
	name := fmt.Sprint("b", c.seed)
	c.git("switch", "-q", "-c", name)
	c.append()
	c.commitAll()
	c.compare(c.kept)
	c.git("switch", "-q", "main")
	c.append()
	c.commitAll()
	if c.r.IntN(2) == 0 {
		c.git("merge", "-q", "-m", "merge", name)
	}
}

func (c *chaos) commitAll() {
	c.git("add", "-A")
	c.git("commit", "-q", "--allow-empty", "-m", "work")
}

func (c *chaos) indexFiles() []string {
	names, _ := filepath.Glob(c.path(indexPath + "/*.idx"))
	return names
}

func (c *chaos) dropIndex() { check.OK(c.t, os.RemoveAll(c.path(filepath.Dir(indexPath)))) }

func (c *chaos) damageIndex() {
	for _, name := range c.indexFiles() {
		data := check.Value(os.ReadFile(name))(c.t)
		switch c.r.IntN(4) {
		case 0:
			data[c.r.IntN(len(data))] ^= 1 << c.r.IntN(8)
		case 1:
			data = data[:c.r.IntN(len(data))]
		case 2:
			clear(data[c.r.IntN(len(data)):])
		default:
			continue
		}
		check.OK(c.t, os.WriteFile(name, data, 0o644))
	}
}

func (c *chaos) swapIndex() {
	if names := c.indexFiles(); len(names) > 1 {
		a, b := names[c.r.IntN(len(names))], names[c.r.IntN(len(names))]
		data := check.Value(os.ReadFile(a))(c.t)
		check.OK(c.t, os.Rename(b, a))
		check.OK(c.t, os.WriteFile(b, data, 0o644))
	}
}

// tear leaves the beginning of a line at the end of a file.
func (c *chaos) tear() {
	c.edit(func(content string) string {
		lines := strings.SplitAfter(content, "\n")
		line := lines[c.r.IntN(len(lines))]
		return content + line[:c.r.IntN(len(line)+1)]
	})
}

// forbidIndex puts a file where the directory should be.
func (c *chaos) forbidIndex() {
	c.dropIndex()
	c.write(indexPath, "mine")
	c.compare(c.kept)
	check.OK(c.t, os.Remove(c.path(indexPath)))
}

func (c *chaos) twoProcesses() {
	c.dropIndex()
	inParallel(3, func(i int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|query", appenderEnv, c.dir))
		out, err := cmd.CombinedOutput()
		check.That(c.t, err == nil, "process %d: %v\n%s", i, err, out)
	})
}

func (c *chaos) compare(l *ledger.Ledger) {
	c.t.Helper()
	l.IndexBlocks(3000, 1000)
	var all []record.Entry
	_, err := l.Scan(context.Background(), func(e record.Entry) error {
		all = append(all, e)
		return nil
	})
	check.OK(c.t, err)
	for range 6 {
		c.compareOne(l, all, c.filter(all))
	}
}

func (c *chaos) filter(all []record.Entry) (f record.Filter) {
	some := all[c.r.IntN(len(all))]
	switch c.r.IntN(6) {
	case 0:
		f.IntentID = ledgertest.Intent(c.r.IntN(c.intents + 1))
	case 1:
		f.Path = ledgertest.Path(c.r.IntN(13))
	case 2:
		f.Path = "src/" + []string{"", "api/", "core/part00/", "x/"}[c.r.IntN(4)]
	case 3:
		f.ID = []string{some.ID, some.Hash}[c.r.IntN(2)]
	case 4:
		f.IntentID, f.Path = some.IntentID, ledgertest.Path(c.r.IntN(12))
	}
	switch c.r.IntN(6) {
	case 0, 1:
		f.Kinds = record.Kinds()[c.r.IntN(8):]
	case 2, 3:
		f.Kinds = record.ChangeKinds()[c.r.IntN(4):]
	}
	if c.r.IntN(6) == 0 {
		f.Class = []string{"AST_REFACTOR", "INTENT_EVOLUTION", "x"}[c.r.IntN(3)]
	}
	if c.r.IntN(6) == 0 {
		f.Session = some.Session
	}
	if c.r.IntN(5) == 0 {
		f.Since = some.Time
	}
	if c.r.IntN(5) == 0 {
		f.Until = some.Time
	}
	f.Newest = c.r.IntN(2) == 0
	if c.r.IntN(2) == 0 {
		f.Limit = 1 + c.r.IntN(8)
	}
	return f
}

// compareOne holds the answer to the scan: without a limit the same records, each segment's in the order of its lines;
// with one, the first of those.
func (c *chaos) compareOne(l *ledger.Ledger, all []record.Entry, f record.Filter) {
	c.t.Helper()
	limit := f.Limit
	f.Limit = 0
	want := map[string]bool{}
	for _, e := range all {
		if f.Matches(e) {
			want[e.Hash] = true
		}
	}
	whole := query(c.t, l, f).Entries
	at := map[string]int64{}
	for _, e := range whole {
		check.Must(c.t, want[e.Hash], "%+v gives %s of %s, which the scan does not, or twice", f, e.ID, e.Segment)
		delete(want, e.Hash)
		order := cmp.Compare(e.Offset, at[e.Segment])
		if f.Newest {
			order = -order
		}
		before, ok := at[e.Segment]
		check.Must(c.t, !ok || order > 0, "%+v gives %s at %d behind %d", f, e.Segment, e.Offset, before)
		at[e.Segment] = e.Offset
	}
	check.Must(c.t, len(want) == 0, "%+v misses %d of %d records", f, len(want), len(want)+len(whole))
	hashes := func(entries []record.Entry) (h []string) {
		for _, e := range entries {
			h = append(h, e.Hash)
		}
		return h
	}
	var rest []record.Entry
	for i, e := range whole {
		if i%2 == 0 {
			f.Without = append(f.Without, e)
		} else {
			rest = append(rest, e)
		}
	}
	// The segments are merged by the times of their next records: without some, others may come first.
	if got := query(c.t, l, f).Entries; !slices.Equal(slices.Sorted(slices.Values(hashes(got))), slices.Sorted(slices.Values(hashes(rest)))) {
		c.t.Fatalf("without %d of %d records, %d are given", len(f.Without), len(whole), len(got))
	}
	f.Without, f.Limit = nil, limit
	for range 2 * min(limit, 1) { // the second time from what is held in memory
		some := query(c.t, l, f).Entries
		if !slices.Equal(hashes(some), hashes(whole[:min(limit, len(whole))])) {
			c.t.Fatalf("%+v gives %d records that are not the first of %d", f, len(some), len(whole))
		}
	}
}

// Git may still be writing an archive when somebody asks. What stands there already looks whole where a frame ends.
func TestTheIndexGetsTheRestOfAnArchiveThatWasBeingWritten(t *testing.T) {
	w, _, archives := archived(t, 1600)
	ask := func(l *ledger.Ledger) (n int) {
		for _, f := range []record.Filter{{IntentID: "INT-001"}, {IntentID: "none"}} {
			n += len(query(t, l, f).Entries)
		}
		return n
	}
	all := ask(w.open(ledger.Options{}))
	check.OK(t, w.root.RemoveAll(indexPath))
	whole := w.read(archives[0])
	const frame = "\x28\xb5\x2f\xfd"
	second := strings.Index(whole[len(frame):], frame) + len(frame)
	check.Must(t, second >= len(frame), "the archive has one frame only")
	w.write(archives[0], whole[:second])
	kept := w.open(ledger.Options{})
	n := ask(kept)
	check.Must(t, n < all && n != 0, "%d records of %d while the archive is written", n, all)
	w.write(archives[0], whole)
	for name, l := range map[string]*ledger.Ledger{"the same process": kept, "another one": w.open(ledger.Options{})} {
		check.Equal(t, ask(l), all, "records that %s finds", name)
	}
}
