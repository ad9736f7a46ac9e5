package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// putArchive makes an archive of lines, and returns its name relative to the workspace.
func (w *workspace) putArchive(lines []string) string {
	w.t.Helper()
	var file bytes.Buffer
	to := check.Value(framed.NewWriter(&file))(w.t)
	for _, line := range lines {
		check.Value(to.Write([]byte(line + "\n")))(w.t)
	}
	check.OK(w.t, to.Close())
	name := ".orchestration/" + ledger.ArchiveName([]byte(lines[0]), file.Bytes())
	w.write(name, file.String())
	return name
}

// archived is a ledger of n records of which the first half stand in two archives.
func archived(t *testing.T, n int) (w *workspace, ids, archives []string) {
	t.Helper()
	w = newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS})
	for i := range n {
		ids = append(ids, appendOne(t, l, mutation(fmt.Sprintf("INT-%03d", i%7), fmt.Sprintf("src/%d", i))).ID)
	}
	check.OK(t, l.Close(context.Background()))
	lines := w.lines(tracePath)
	archives = append(archives, w.putArchive(lines[:n/4]), w.putArchive(lines[n/4:n/2]))
	w.write(tracePath, strings.Join(lines[n/2:], "\n")+"\n")
	return w, ids, archives
}

func TestArchivesAreReadAsThePartsOfTheLedger(t *testing.T) {
	const n = 2000
	w, ids, archives := archived(t, n)
	w.wantRecords(n)
	l := w.open(ledger.Options{})
	for _, newest := range []bool{false, true} {
		var got []string
		for _, e := range query(t, l, record.Filter{Newest: newest}).Entries {
			got = append(got, e.ID)
		}
		if newest {
			slices.Reverse(got)
		}
		if len(got) != n || slices.Compare(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(ids))) != 0 {
			t.Errorf("newest %v: %d entries", newest, len(got))
		}
	}
	first := query(t, l, record.Filter{ID: ids[0]}).Entries
	if len(first) != 1 || ".orchestration/"+first[0].Segment != archives[0] || first[0].Offset != 0 {
		t.Errorf("the first record is %+v", first)
	}
	has, err := l.Has(context.Background(), ids[0], ids[n-1], "00000000-0000-4000-8000-000000000000")
	check.That(t, err == nil && len(has) == 2 && has[ids[0]] && has[ids[n-1]], "Has: %v, %v", has, err)
	problems, err := l.Scan(context.Background(), func(e record.Entry) error {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == e.ID })
		return nil
	})
	check.That(t, err == nil && len(problems) == 0 && len(ids) == 0, "Scan missed %d records; %v, %v", len(ids), problems, err)
	appendOne(t, l, mutation("INT-001", "src/next"))
	w.wantOneHead()
}

// TestEachChangedByteOfAnArchiveIsFound also changes bytes that do not change what decompresses.
func TestEachChangedByteOfAnArchiveIsFound(t *testing.T) {
	w, _, archives := archived(t, 200)
	file := []byte(w.read(archives[0]))
	step := check.Rounds(97, 1)
	for at := rand.N(step); at < len(file); at += step {
		broken := bytes.Clone(file)
		broken[at] ^= 1 << rand.N(8)
		w.write(archives[0], string(broken))
		if !slices.ContainsFunc(w.verify().Problems, func(p ledger.Problem) bool {
			return p.Kind == ledger.ProblemArchive && ".orchestration/"+p.Segment == archives[0] && p.Detail != ""
		}) {
			t.Fatalf("a change of byte %d is not found", at)
		}
	}
	w.write(archives[0], string(file))
	w.wantRecords(200)
}

func TestAttacksOnArchives(t *testing.T) {
	for name, c := range map[string]struct {
		attack func(w *workspace, archives []string)
		want   []ledger.ProblemKind
	}{
		"dropped":      {func(w *workspace, a []string) { check.OK(w.t, os.Remove(w.path(a[0]))) }, []ledger.ProblemKind{ledger.ProblemMissing}},
		"last dropped": {func(w *workspace, a []string) { check.OK(w.t, os.Remove(w.path(a[1]))) }, []ledger.ProblemKind{ledger.ProblemMissing}},
		"truncated": {func(w *workspace, a []string) { w.write(a[1], w.read(a[1])[:1000]) },
			[]ledger.ProblemKind{ledger.ProblemMissing, ledger.ProblemArchive}},
		"truncated to nothing": {func(w *workspace, a []string) { w.write(a[1], "") },
			[]ledger.ProblemKind{ledger.ProblemMissing, ledger.ProblemArchive}},
		"swapped": {func(w *workspace, a []string) {
			first, second := w.read(a[0]), w.read(a[1])
			w.write(a[0], second)
			w.write(a[1], first)
		}, []ledger.ProblemKind{ledger.ProblemArchive, ledger.ProblemArchive}},
		"copied":   {func(w *workspace, a []string) { w.write(strings.Replace(a[0], "Z-", "Z-0", 1), w.read(a[0])) }, []ledger.ProblemKind{ledger.ProblemArchive}},
		"followed": {func(w *workspace, a []string) { w.write(a[0], w.read(a[0])+"garbage") }, []ledger.ProblemKind{ledger.ProblemArchive}},
		"edited and packed again": {func(w *workspace, a []string) {
			w.repack(a[1], func(s string) string { return strings.Replace(s, "src/60", "src/61", 1) })
		},
			[]ledger.ProblemKind{ledger.ProblemMissing}},
		"a record taken out": {func(w *workspace, a []string) {
			w.repack(a[1], func(s string) string { _, s, _ = strings.Cut(s, "\n"); return s })
		},
			[]ledger.ProblemKind{ledger.ProblemMissing}},
		"another program's": {func(w *workspace, a []string) {
			w.write(".orchestration/archive/x.jsonl.zst", strings.Repeat("hello\n", 1000))
		},
			[]ledger.ProblemKind{ledger.ProblemArchive}},
		"a directory": {func(w *workspace, a []string) { w.write(".orchestration/archive/x.jsonl.zst/y", "") },
			[]ledger.ProblemKind{ledger.ProblemUnreadable}},
	} {
		t.Run(name, func(t *testing.T) {
			w, ids, archives := archived(t, 200)
			c.attack(w, archives)
			w.problems = c.want
			var kinds []ledger.ProblemKind
			for _, p := range w.verify().Problems {
				kinds = append(kinds, p.Kind)
			}
			slices.Sort(kinds)
			slices.Sort(w.problems)
			if !slices.Equal(kinds, w.problems) {
				t.Errorf("problems %v, want %v", w.verify().Problems, c.want)
			}
			w.problems = nil
			for _, p := range w.verify().Problems { // in their order
				w.problems = append(w.problems, p.Kind)
			}
			l := w.open(ledger.Options{})
			last := query(t, l, record.Filter{Newest: true, Limit: 1})
			check.That(t, len(last.Entries) == 1 && last.Entries[0].ID == ids[len(ids)-1], "the last record is %v", last.Entries)
			appendOne(t, l, mutation("INT-001", "src/next"))
		})
	}
}

// repack puts an archive with other lines in the place of one, under the name that it must have.
func (w *workspace) repack(name string, change func(string) string) {
	w.t.Helper()
	file := check.Value(os.Open(w.path(name)))(w.t)
	defer file.Close()
	s := check.Value(framed.NewStream(file))(w.t)
	var text bytes.Buffer
	check.Value(text.ReadFrom(s))(w.t)
	changed := change(text.String())
	check.Must(w.t, changed != text.String(), "the attack changes nothing")
	check.OK(w.t, os.Remove(w.path(name)))
	w.putArchive(strings.Split(strings.TrimSuffix(changed, "\n"), "\n"))
}

func TestALinkInPlaceOfTheArchivesIsNotFollowed(t *testing.T) {
	w, _, _ := archived(t, 200)
	check.OK(t, os.Rename(w.path(".orchestration/archive"), w.path("elsewhere")))
	check.OK(t, os.Symlink("../elsewhere", w.path(".orchestration/archive")))
	w.problems = []ledger.ProblemKind{ledger.ProblemMissing, ledger.ProblemUnreadable}
	report := w.verify()
	check.That(t, report.Records == 100, "%d records were read", report.Records)
}

func TestDamageInAnArchiveHidesOnlyItself(t *testing.T) {
	w, _, archives := archived(t, 8000)
	file := []byte(w.read(archives[0]))
	file[len(file)/2] ^= 1
	w.write(archives[0], string(file))
	problems := w.verify().Problems
	w.problems = []ledger.ProblemKind{ledger.ProblemArchive, ledger.ProblemMissing}
	check.That(t, len(problems) == 2 && strings.Contains(problems[0].Detail, "damaged from byte"), "problems %v", problems)
	l := w.open(ledger.Options{})
	oldest, newest := query(t, l, record.Filter{}), query(t, l, record.Filter{Newest: true})
	if n := len(oldest.Entries); n < 8000-1000 || n == 8000 || n != len(newest.Entries) || n != w.verify().Records {
		t.Errorf("%d and %d entries, %d records", n, len(newest.Entries), w.verify().Records)
	}
	check.That(t, len(oldest.Problems) == 1 && len(newest.Problems) == 1, "problems %v and %v", oldest.Problems, newest.Problems)
}
