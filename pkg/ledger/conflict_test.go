package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

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
	for name, style := range map[string]func(base, ours, theirs string) string{
		"merge": func(base, ours, theirs string) string {
			return base + "<<<<<<< HEAD\n" + ours + "=======\n" + theirs + ">>>>>>> feature\n"
		},
		"diff3": func(base, ours, theirs string) string {
			return "<<<<<<< HEAD\n" + base + ours + "||||||| 1234567\n" + base + "=======\n" + theirs + ">>>>>>> feature\n"
		},
		"long markers": func(base, ours, theirs string) string {
			return "<<<<<<<<<< HEAD\n" + base + ours + "==========\n" + base + theirs + ">>>>>>>>>> feature\n"
		},
		"half cleaned by a person, converted": func(base, ours, theirs string) string {
			return strings.ReplaceAll(base+ours+"=======\n\n"+theirs+theirs, "\n", "\r\n")
		},
		"no newline at the end": func(base, ours, theirs string) string {
			return "<<<<<<< HEAD\n" + base + ours + "=======\n>>>>>>> feature\n" + strings.TrimSuffix(theirs, "\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, l, base, ours, theirs := threeLines(t)
			w.write(tracePath, style(base, ours, theirs))
			done := check.Value(resolve(w))(t)
			if got := w.read(tracePath); got != base+ours+theirs || len(done) != 1 || done[0].Lines != 3 || done[0].File != tracePath {
				t.Errorf("%+v\n%s", done, got)
			}
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
	if w.read(tracePath) != base+ours+theirs || done[0].Added != 1 || done[0].Duplicates != 0 {
		t.Errorf("%+v\n%s", done, w.read(tracePath))
	}
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
