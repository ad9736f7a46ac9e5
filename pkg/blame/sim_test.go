package blame_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// simLine is a line with its truth: the intent that wrote it, or nothing for a line from outside.
type simLine struct {
	text, owner string
	id          int // of its own; it stays when the line is moved or reformatted
}

type simFile []simLine

func (f simFile) String() string {
	var b strings.Builder
	for _, l := range f {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// world is one file under the hands of several intents and of people outside, with the records that the server would
// have written.
type world struct {
	rand    *rand.Rand
	path    string
	file    simFile
	entries []record.Entry
	clock   time.Time
	blobs   map[string]string // every content that was ever there, by blob id
	images  map[string]bool   // blob ids that undo would keep: contents before a record
	names   int
	ids     int
	append  func(record.Record) // instead of entries
}

func newWorld(seed uint64) *world {
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 7)), path: "src/a.go", clock: time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC),
		blobs: map[string]string{}, images: map[string]bool{},
	}
	for range 6 {
		w.file = append(w.file, w.function("")...)
	}
	return w
}

func sum256(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func blobID(s string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(s), s)))
}

func (w *world) name() string {
	w.names++
	return fmt.Sprintf("%s%s%d", []string{"load", "parse", "send", "count", "merge"}[w.rand.IntN(5)],
		[]string{"Weather", "Station", "Report", "Index"}[w.rand.IntN(4)], w.rand.IntN(90)+w.names)
}

func (w *world) line(text, owner string) simLine {
	w.ids++
	return simLine{text, owner, w.ids}
}

// statement gives code. Four lines in ten have a twin in the file then; in Go files of this size it is one in three.
func (w *world) statement(owner, indent string) simFile {
	lines := []string{}
	switch w.rand.IntN(10) {
	case 0:
		lines = []string{"if err != nil {", "\treturn err", "}"}
	case 1:
		lines = []string{fmt.Sprintf("for _, item := range %s {", w.name()), fmt.Sprintf("\t%s(item)", w.name()), "}"}
	case 2:
		lines = []string{""}
	default:
		lines = []string{fmt.Sprintf("%s, err := %s(%d)", w.name(), w.name(), w.rand.IntN(100))}
	}
	f := simFile{}
	for _, l := range lines {
		if l != "" {
			l = indent + l
		}
		f = append(f, w.line(l, owner))
	}
	return f
}

func (w *world) function(owner string) simFile {
	f := simFile{w.line(fmt.Sprintf("func %s(ctx context.Context) error {", w.name()), owner)}
	for range 3 + w.rand.IntN(10) {
		f = append(f, w.statement(owner, "\t")...)
	}
	return append(f, w.line("\treturn nil", owner), w.line("}", owner), w.line("", owner))
}

func (w *world) statements(owner string, n int) simFile {
	var f simFile
	for range n {
		f = append(f, w.statement(owner, "\t")...)
	}
	return f
}

// some gives a run of at most n lines of the file.
func (w *world) some(n int) (from, to int) {
	from = w.rand.IntN(len(w.file))
	return from, min(len(w.file), from+1+w.rand.IntN(n))
}

// replace puts lines in the place of others. What an edit puts back as it was, at its edges, it has not touched.
func (w *world) replace(from, to int, with simFile) simFile {
	for from < to && len(with) > 0 && w.file[from].text == with[0].text {
		from, with = from+1, with[1:]
	}
	for from < to && len(with) > 0 && w.file[to-1].text == with[len(with)-1].text {
		to, with = to-1, with[:len(with)-1]
	}
	return slices.Concat(w.file[:from], with, w.file[to:])
}

// change is an edit of content by owner: an intent, or nobody known.
func (w *world) change(owner string) simFile {
	from, to := w.some(5)
	switch w.rand.IntN(8) {
	case 0:
		return w.replace(from, from, w.statements(owner, 1+w.rand.IntN(4)))
	case 1:
		return w.replace(len(w.file), len(w.file), w.function(owner))
	case 2:
		if len(w.file) > 60 {
			return w.replace(from, to, nil)
		}
		return w.replace(from, from, w.function(owner))
	case 3, 4, 5:
		next := slices.Clone(w.file)
		for i := from; i < to; i++ {
			if l := next[i].text; strings.TrimSpace(l) != "" && len(strings.TrimSpace(l)) > 6 {
				next[i] = w.line(l+fmt.Sprintf(" // %s", w.name()), owner)
			}
		}
		return next
	default:
		return w.replace(from, to, w.statements(owner, 1+w.rand.IntN(5)))
	}
}

// reformat indents a block or the whole file, one way or the other; authorship does not change.
func (w *world) reformat() simFile {
	next := slices.Clone(w.file)
	from, to := w.some(30)
	if w.rand.IntN(3) == 0 {
		from, to = 0, len(next)
	}
	how := w.rand.IntN(3)
	for i := from; i < to; i++ {
		t := next[i].text
		switch {
		case t == "":
		case how == 0:
			t = "\t" + t
		case how == 1:
			t = strings.ReplaceAll(t, "\t", "    ")
		default:
			t = strings.TrimPrefix(t, "\t")
		}
		next[i].text = t
	}
	return next
}

// move puts a block of at least three lines elsewhere.
func (w *world) move() simFile {
	from := w.rand.IntN(len(w.file) - 20)
	to := from + 3 + w.rand.IntN(10)
	block := slices.Clone(w.file[from:to])
	rest := w.replace(from, to, nil)
	at := w.rand.IntN(len(rest) + 1)
	return slices.Concat(rest[:at], block, rest[at:])
}

var intents = []string{"INT-001", "INT-002", "INT-003", "INT-004"}

// step makes one edit of the simulation.
func (w *world) step() {
	owner := intents[w.rand.IntN(len(intents))]
	switch n := w.rand.IntN(100); {
	case n < 62:
		w.record(owner, w.change(owner), w.path)
	case n < 65:
		w.record(owner, w.file, fmt.Sprintf("src/renamed%d.go", len(w.entries)))
	case n < 80:
		w.outside(w.change(""))
	case n < 90:
		w.outside(w.reformat())
	default:
		w.outside(w.move())
	}
}

func (w *world) outside(next simFile) {
	w.file = next
	w.blobs[blobID(next.String())] = next.String()
}

// record makes a tracked change as the server's recorder would.
func (w *world) record(owner string, next simFile, path string) {
	before, after := w.file.String(), next.String()
	c := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: path, Before: change.Version{Hash: sum256(before), OID: blobID(before)}, After: change.Version{Hash: sum256(after), OID: blobID(after)}, Hunks: edit.Hunks(before, after),
		},
	}
	if path != w.path {
		c.Op, c.From = change.Moved, w.path
	}
	for _, r := range edit.ChangedRanges(after, c.Hunks) {
		c.Ranges = append(c.Ranges, record.Range(r))
	}
	c.Mark(edit.Lines(after))
	w.blobs[c.Before.OID], w.blobs[c.After.OID], w.images[c.Before.OID] = before, after, true
	w.file, w.path = next, path
	r := record.Record{Kind: record.KindMutation, IntentID: owner, MutationClass: "INTENT_EVOLUTION", Call: "apply_diff",
		Contributor: record.Contributor{Type: record.ContributorAI, ModelID: "anthropic/claude-x"}, Changes: []record.Change{c}}
	w.clock = w.clock.Add(time.Minute)
	if w.append != nil {
		w.append(r)
		return
	}
	w.entries = append(w.entries, record.Entry{Record: r, ID: uuid.NewString(), Time: w.clock})
}

// contents is the part of the contents that is known: all of them, those that undo keeps, or none.
func (w *world) contents(known string) blame.Contents {
	return func(oid string) ([]byte, bool) {
		text, ok := w.blobs[oid]
		return []byte(text), ok && (known == "all" || known == "before-images" && w.images[oid])
	}
}

// figures count lines by how they were answered.
type figures struct {
	answered, right, owned, lines int
	by                            map[blame.Confidence][2]int // right, all
}

func (g *figures) add(confidence blame.Confidence, got, truth string) {
	if g.by == nil {
		g.by = map[blame.Confidence][2]int{}
	}
	g.lines++
	if truth != "" {
		g.owned++
	}
	if got != "" {
		g.answered++
		if got == truth {
			g.right++
		}
	}
	n := g.by[confidence]
	if got == truth {
		n[0]++
	}
	n[1]++
	g.by[confidence] = n
}

func (g *figures) addAll(other *figures) {
	g.answered, g.right, g.owned, g.lines = g.answered+other.answered, g.right+other.right, g.owned+other.owned, g.lines+other.lines
}

func (g *figures) precision() float64 { return float64(g.right) / float64(max(g.answered, 1)) }
func (g *figures) recall() float64    { return float64(g.right) / float64(max(g.owned, 1)) }

func (g *figures) String() string {
	s := fmt.Sprintf("precision %.4f recall %.4f (%d lines, %d of an intent)", g.precision(), g.recall(), g.lines, g.owned)
	for _, c := range []blame.Confidence{blame.Exact, blame.Shifted, blame.Reformatted, blame.Moved, blame.Untracked} {
		s += fmt.Sprintf("; %s %d/%d", c, g.by[c][0], g.by[c][1])
	}
	return s
}

func (g *figures) addLines(t testing.TB, lines []blame.Line, file simFile) {
	t.Helper()
	if len(lines) != len(file) {
		t.Fatalf("%d lines answered, the file has %d", len(lines), len(file))
	}
	for i, l := range lines {
		got := ""
		if l.Record != nil {
			got = l.Record.IntentID
		}
		if (got == "") != (l.Confidence == blame.Untracked) {
			t.Fatalf("line %d has confidence %s and intent %q", l.Number, l.Confidence, got)
		}
		g.add(l.Confidence, got, file[i].owner)
	}
}
