package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
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
	const n = 800
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
	check.That(t, len(first) == 1 && ".orchestration/"+first[0].Segment == archives[0] && first[0].Offset == 0, "the first record is %+v", first)
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
	kinds := func(all ...ledger.ProblemKind) []ledger.ProblemKind { return all }
	missing, damaged, unreadable := ledger.ProblemMissing, ledger.ProblemArchive, ledger.ProblemUnreadable
	for name, c := range map[string]struct {
		attack func(w *workspace, archives []string)
		want   []ledger.ProblemKind
	}{
		"dropped":              {func(w *workspace, a []string) { check.OK(w.t, os.Remove(w.path(a[0]))) }, kinds(missing)},
		"last dropped":         {func(w *workspace, a []string) { check.OK(w.t, os.Remove(w.path(a[1]))) }, kinds(missing)},
		"truncated":            {func(w *workspace, a []string) { w.write(a[1], w.read(a[1])[:1000]) }, kinds(missing, damaged)},
		"truncated to nothing": {func(w *workspace, a []string) { w.write(a[1], "") }, kinds(missing, damaged)},
		"swapped": {func(w *workspace, a []string) {
			first, second := w.read(a[0]), w.read(a[1])
			w.write(a[0], second)
			w.write(a[1], first)
		}, kinds(damaged, damaged)},
		"copied":   {func(w *workspace, a []string) { w.write(strings.Replace(a[0], "Z-", "Z-0", 1), w.read(a[0])) }, kinds(damaged)},
		"followed": {func(w *workspace, a []string) { w.write(a[0], w.read(a[0])+"garbage") }, kinds(damaged)},
		"edited and packed again": {func(w *workspace, a []string) {
			w.repack(a[1], func(s string) string { return strings.Replace(s, "src/60", "src/61", 1) })
		}, kinds(missing)},
		"a record taken out": {func(w *workspace, a []string) {
			w.repack(a[1], func(s string) string { _, s, _ = strings.Cut(s, "\n"); return s })
		}, kinds(missing)},
		"another program's": {func(w *workspace, _ []string) {
			w.write(".orchestration/archive/x.jsonl.zst", strings.Repeat("hello\n", 1000))
		}, kinds(damaged)},
		"a directory": {func(w *workspace, _ []string) { w.write(".orchestration/archive/x.jsonl.zst/y", "") }, kinds(unreadable)},
		"a link in place of all": {func(w *workspace, _ []string) {
			check.OK(w.t, os.Rename(w.path(".orchestration/archive"), w.path("elsewhere")))
			check.OK(w.t, os.Symlink("../elsewhere", w.path(".orchestration/archive")))
		}, kinds(missing, unreadable)},
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
			check.That(t, slices.Equal(kinds, w.problems), "problems %v, want %v", w.verify().Problems, c.want)
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

func TestDamageInAnArchiveHidesOnlyItself(t *testing.T) {
	const n, within = 1600, 250 // a damage costs a frame, or two
	w, _, archives := archived(t, n)
	file := []byte(w.read(archives[0]))
	file[len(file)/2] ^= 1
	w.write(archives[0], string(file))
	problems := w.verify().Problems
	w.problems = []ledger.ProblemKind{ledger.ProblemArchive, ledger.ProblemMissing}
	check.That(t, len(problems) == 2 && strings.Contains(problems[0].Detail, "damaged from byte"), "problems %v", problems)
	l := w.open(ledger.Options{})
	oldest, newest := query(t, l, record.Filter{}), query(t, l, record.Filter{Newest: true})
	if left := len(oldest.Entries); left < n-within || left == n || left != len(newest.Entries) || left != w.verify().Records {
		t.Errorf("%d and %d entries, %d records", left, len(newest.Entries), w.verify().Records)
	}
	check.That(t, len(oldest.Problems) == 1 && len(newest.Problems) == 1, "problems %v and %v", oldest.Problems, newest.Problems)
}

func side(content string) mend.Side {
	return mend.Side{Name: "a side", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

func resolve(w *workspace, unmerged ...mend.Unmerged) ([]mend.Resolution, error) {
	w.t.Helper()
	return mend.Conflicts(context.Background(), w.root, unmerged)
}

// threeLines is a ledger of one base line and two that followed it on different branches, and a handle that stays open.
func threeLines(t *testing.T) (w *workspace, l *ledger.Ledger, base, ours, theirs string) {
	w = newWorkspace(t)
	l = w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "base"))
	base = w.read(tracePath)
	appendOne(t, l, mutation("INT-001", "theirs"))
	theirs = strings.TrimPrefix(w.read(tracePath), base)
	w.write(tracePath, base)
	appendOne(t, l, mutation("INT-001", "ours"))
	ours = strings.TrimPrefix(w.read(tracePath), base)
	return w, l, base, ours, theirs
}

func TestResolveConflictsKeepsEveryLineOfAllSides(t *testing.T) {
	for name, form := range map[string]string{
		"merge":                               "{base}\n<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> feature\n",
		"diff3":                               "<<<<<<< HEAD\n{base}\n{ours}\n||||||| 1234567\n{base}\n=======\n{theirs}\n>>>>>>> feature\n",
		"long markers":                        "<<<<<<<<<< HEAD\n{base}\n{ours}\n==========\n{base}\n{theirs}\n>>>>>>>>>> feature\n",
		"half cleaned by a person, converted": "{base}\r\n{ours}\r\n=======\r\n\r\n{theirs}\r\n{theirs}\r\n",
		"no newline at the end":               "<<<<<<< HEAD\n{base}\n{ours}\n=======\n>>>>>>> feature\n{theirs}",
	} {
		t.Run(name, func(t *testing.T) {
			w, l, base, ours, theirs := threeLines(t)
			trim := func(line string) string { return strings.TrimSuffix(line, "\n") }
			w.write(tracePath, strings.NewReplacer("{base}", trim(base), "{ours}", trim(ours), "{theirs}", trim(theirs)).Replace(form))
			done := check.Value(resolve(w))(t)
			got := w.read(tracePath)
			check.That(t, got == base+ours+theirs && len(done) == 1 && done[0].Lines == 3 && done[0].File == tracePath, "%+v\n%s", done, got)
			w.wantRecords(3)
			appendOne(t, l, mutation("INT-001", "joined")) // by a server that was there all along
			w.wantRecords(4)
			w.wantOneHead()
			again, err := resolve(w)
			check.That(t, err == nil && len(again) == 0, "without a conflict: %+v %v", again, err)
		})
	}
}

func TestResolveConflictsTakesWhatTheIndexKept(t *testing.T) {
	w, _, base, ours, theirs := threeLines(t)
	done, err := resolve(w, mend.Unmerged{Segment: "agent_trace.jsonl", Sides: []mend.Side{side(base + ours), side(base + theirs)}})
	check.OK(t, err)
	check.That(t, w.read(tracePath) == base+ours+theirs && done[0].Added == 1 && done[0].Duplicates == 0, "%+v\n%s", done, w.read(tracePath))
	const deleted = "trace/" + session + ".jsonl" // by one of the branches
	check.Value(resolve(w, mend.Unmerged{Segment: deleted, Sides: []mend.Side{side(theirs)}}))(t)
	check.Equal(t, w.read(".orchestration/"+deleted), theirs, "the deleted segment")
	w.wantRecords(3)
}

func TestResolveConflictsRefusesWhatIsNoRecord(t *testing.T) {
	for name, bad := range map[string]string{
		"text": "hello", "half a record": `{"prev":[],"version":`, "an array": "[1]", "a marker that is too short": "<<<<<<",
		"a marker with text at it": "<<<<<<<HEAD", "a marker and a record": `=======x`, "a long line": strings.Repeat("x", 17<<20),
		"two records in a line": `{"prev":[],"a":1}{"prev":[],"b":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			w, _, base, ours, theirs := threeLines(t)
			for _, end := range []string{"\n", ""} {
				content := base + "<<<<<<< HEAD\n" + ours + "=======\n" + theirs + ">>>>>>> x\n" + bad + end
				w.write(tracePath, content)
				other := ".orchestration/trace/" + session + ".jsonl"
				w.write(other, "<<<<<<< HEAD\n"+ours)
				_, err := resolve(w)
				check.That(t, errors.Is(err, mend.ErrUnresolvable) && strings.Contains(err.Error(), tracePath+" line 7"), "error %v", err)
				check.That(t, w.read(tracePath) == content && w.read(other) == "<<<<<<< HEAD\n"+ours, "something was changed")
				left := check.Value(os.ReadDir(w.path(".orchestration/state")))(t)
				check.That(t, len(left) == 1 && left[0].Name() == "lock", "left behind: %v", left)
				check.OK(t, os.Remove(w.path(other)))
			}
			w.write(tracePath, base+ours+theirs)
		})
	}
}

func TestPutBackGivesLinesTheIdentityThatTheyHad(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		w := newWorkspace(t)
		l := w.open(ledger.Options{Layout: layout})
		name := "agent_trace.jsonl"
		if layout == ledger.LayoutSessions {
			name = "trace/" + session + ".jsonl"
		}
		for range 3 {
			appendOne(t, l, mutation("INT-001", "x"))
		}
		lines := w.lines(".orchestration/" + name)
		w.write(".orchestration/"+name, lines[0]+"\n"+lines[2]) // and the last newline is gone
		check.OK(t, mend.PutBack(context.Background(), w.root, []mend.Line{{Segment: name, Data: []byte(lines[1])}}))
		got := w.lines(".orchestration/" + name)
		check.That(t, slices.Equal(got, []string{lines[0], lines[2], lines[1]}), "%s: %q", layout, got)
		appendOne(t, l, mutation("INT-001", "next"))
		w.wantRecords(4)
		w.wantOneHead()
		archived := mend.Line{Segment: "archive/x", Data: []byte(lines[1])}
		check.OK(t, mend.PutBack(context.Background(), w.root, []mend.Line{archived}))
		check.That(t, strings.Contains(w.read(tracePath), lines[1]), "a line of an archive does not come back into the single file")
		for _, bad := range []string{"", "x", "{}\n{}"} {
			check.Is(t, mend.PutBack(context.Background(), w.root, []mend.Line{{Data: []byte(bad)}}), record.ErrMalformed, "%q", bad)
		}
	}
}

// FuzzResolveConflicts: whatever stands in a file, resolving loses no record, and refusing changes nothing.
func FuzzResolveConflicts(f *testing.F) {
	f.Add("<<<<<<< HEAD\n{\"prev\":[],\"a\":1}\n=======\n{\"b\":2}\n>>>>>>> x\n")
	f.Add("||||||| x\n\n{\"prev\":[],\"a\":1}\r\n{\"prev\":[],\"a\":1}")
	f.Add(">>>>>>>\nx")
	f.Fuzz(func(t *testing.T, content string) {
		w := &workspace{t: t, dir: t.TempDir()}
		w.write(tracePath, content)
		root, err := os.OpenRoot(w.dir)
		check.OK(t, err)
		defer root.Close()
		before := hashes(t, content)
		_, err = mend.Conflicts(context.Background(), root, nil)
		after := w.read(tracePath)
		check.Must(t, err == nil || after == content, "refused with %v and changed", err)
		got := hashes(t, after)
		check.Must(t, slices.Equal(got, before), "lines %v became %v", before, got)
	})
}

// hashes are the identities of a content's lines, each once, in order.
func hashes(t *testing.T, content string) (all []string) {
	check.OK(t, segment.HashLines(bytes.NewReader([]byte(content)), func(l ledger.RawLine) error {
		if !slices.Contains(all, l.Hash.String()) {
			all = append(all, l.Hash.String())
		}
		return nil
	}))
	return all
}
