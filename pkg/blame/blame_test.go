package blame_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// fileOf gives lines that belong to owner.
func (w *world) fileOf(owner string, lines ...string) simFile {
	var f simFile
	for _, l := range lines {
		f = append(f, w.line(l, owner))
	}
	return f
}

func emptyWorld() *world {
	w := newWorld(0)
	w.file = nil
	return w
}

// answers renders each line as its intent, or -, and its confidence.
func answers(t *testing.T, w *world, known string) string {
	t.Helper()
	lines := check.Value(blame.File(context.Background(), w.path, []byte(w.file.String()), w.entries, w.contents(known)))(t)
	var words []string
	for _, l := range lines {
		if l.Record == nil {
			words = append(words, string(l.Confidence))
			continue
		}
		words = append(words, l.Record.IntentID+":"+string(l.Confidence))
	}
	return strings.Join(words, " ")
}

func TestFile(t *testing.T) {
	code := []string{"alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()", "echo := fifth()", "foxtrot := sixth()"}
	cases := map[string]struct {
		do         func(w *world)
		all, blind string // with all contents known, and with none
	}{
		"recorded changes only": {func(w *world) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.file...), w.path)
		}, "B:exact A:exact A:exact A:exact A:exact A:exact A:exact", "B:exact A:exact A:exact A:exact A:exact A:exact A:exact"},
		"a line from outside above": {func(w *world) {
			w.outside(append(w.fileOf("", "new := zero()"), w.file...))
		}, "untracked A:shifted A:shifted A:shifted A:shifted A:shifted A:shifted", "untracked A:shifted A:shifted A:shifted A:shifted A:shifted A:shifted"},
		"a line from outside below": {func(w *world) {
			w.outside(append(w.file[:6:6], w.fileOf("", "new := zero()")...))
		}, "A:exact A:exact A:exact A:exact A:exact A:exact untracked", "A:exact A:exact A:exact A:exact A:exact A:exact untracked"},
		"indented from outside": {func(w *world) {
			for i := range w.file {
				w.file[i].text = "\t" + w.file[i].text
			}
		}, strings.TrimSpace(strings.Repeat("A:reformatted ", 6)), strings.TrimSpace(strings.Repeat("A:reformatted ", 6))},
		"a block moved from outside": {func(w *world) {
			w.record("B", append(w.file[:6:6], w.fileOf("B", "golf := seventh()", "hotel := eighth()")...), w.path)
			w.outside(append(append(simFile{}, w.file[3:]...), w.file[:3]...))
		}, "A:shifted A:shifted A:shifted B:shifted B:shifted A:moved A:moved A:moved", ""},
		"put back to an older content": {func(w *world) {
			old := w.file
			w.record("B", w.fileOf("B", "golf := seventh()"), w.path)
			w.outside(old)
		}, strings.TrimSpace(strings.Repeat("A:exact ", 6)), strings.TrimSpace(strings.Repeat("A:exact ", 6))},
		"moved by a record": {func(w *world) {
			w.record("B", w.file, "src/b.go")
		}, strings.TrimSpace(strings.Repeat("A:exact ", 6)), strings.TrimSpace(strings.Repeat("A:exact ", 6))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.record("A", w.fileOf("A", code...), w.path)
			c.do(w)
			if got := answers(t, w, "all"); got != c.all {
				t.Errorf("contents known:\n got %s\nwant %s", got, c.all)
			}
			if got := answers(t, w, "none"); c.blind != "" && got != c.blind {
				t.Errorf("contents not known:\n got %s\nwant %s", got, c.blind)
			}
		})
	}
}

// Two branches changed the file; the newest record is not the one that the lines are like.
func TestMergedBranches(t *testing.T) {
	w := emptyWorld()
	w.outside(w.fileOf("", "alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()"))
	base := w.file
	w.record("A", append(w.fileOf("A", "one := branchOne()"), base...), w.path)
	w.file = base
	w.record("B", append(base[:4:4], w.fileOf("B", "two := branchTwo()")...), w.path)
	w.outside(append(append(w.fileOf("A", "one := branchOne()"), base...), w.fileOf("B", "two := branchTwo()")...))
	want := "A:exact untracked untracked untracked untracked B:shifted"
	if got := answers(t, w, "all"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What a ledger line claims can be anything. The answer may be wrong then, it may not be a crash.
func TestForgedHunks(t *testing.T) {
	for _, hunks := range [][][4]int{
		{{-5, -1, -3, -9}}, {{1 << 60, 1, 1, 1}}, {{1, 1 << 60, 1, 1 << 60}}, {{2, 1, 2, 1}, {1, 1, 1, 1}}, {{0, 0, 0, 0}}, {{1, 0, 5, 0}},
	} {
		w := emptyWorld()
		w.record("A", w.fileOf("A", "alpha := first()", "bravo := second()"), w.path)
		w.record("B", w.fileOf("B", "alpha := first()", "charlie := third()"), w.path)
		w.entries[1].Changes[0].Hunks = hunks
		w.entries[1].Changes[0].Ranges = []record.Range{{StartLine: 1, EndLine: 1 << 60, ContentHash: sum256("x")}}
		answers(t, w, "none")
		w.outside(append(w.file, w.fileOf("", "delta := fourth()")...))
		answers(t, w, "none")
		answers(t, w, "all")
	}
}

func TestStory(t *testing.T) {
	w := emptyWorld()
	w.record("A", w.fileOf("A", "alpha", "bravo"), w.path)
	w.record("B", w.fileOf("B", "alpha", "charlie"), w.path)
	w.record("C", append(w.fileOf("C", "new"), w.file...), "src/b.go")
	story, err := blame.Story(context.Background(), w.path, 3, []byte(w.file.String()), w.entries, nil)
	check.OK(t, err)
	var got []string
	for _, touch := range story {
		got = append(got, touch.Record.IntentID)
		if touch.Line != 2 || touch.Path != "src/a.go" {
			t.Errorf("%s wrote %s:%d, want src/a.go:2", touch.Record.IntentID, touch.Path, touch.Line)
		}
	}
	if strings.Join(got, " ") != "B A" {
		t.Errorf("the story is %v, want B before A", got)
	}
	_, err = blame.Story(context.Background(), w.path, 4, []byte(w.file.String()), w.entries, nil)
	if !errors.Is(err, blame.ErrNoSuchLine) {
		t.Errorf("line 4 of 3: %v", err)
	}
}

func TestFileErrors(t *testing.T) {
	if _, err := blame.File(context.Background(), "a", []byte{0, 1, 2, 0}, nil, nil); !errors.Is(err, workspace.ErrBinary) {
		t.Errorf("a binary file: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := blame.File(ended, "a", []byte("x\n"), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}
