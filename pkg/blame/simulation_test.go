package blame_test

import (
	"context"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

const (
	wantPrecision = 0.98
	wantRecall    = 0.95
	// wantRecallBefore holds where only the contents before each record are kept: what a record wrote right before a
	// change from outside is then known by the hash of its range alone.
	wantRecallBefore = 0.90
)

func runs(short, full int) int {
	if check.Long() {
		return full
	}
	return short
}

// TestSimulation asks for the right intent of each line after 40 edits by intents and from outside.
func TestSimulation(t *testing.T) {
	got := map[string]*figures{"all": {}, "before-images": {}, "none": {}}
	var numbers, hashes figures
	for seed := range runs(20, 60) {
		w := newWorld(uint64(seed))
		for range 40 {
			w.step()
		}
		for known, g := range got {
			lines, err := blame.File(context.Background(), w.path, []byte(w.file.String()), w.entries, w.contents(known))
			if err != nil {
				t.Fatal(err)
			}
			g.addLines(t, lines, w.file)
		}
		byNumber(w, &numbers)
		byHash(w, &hashes)
	}
	for _, known := range []string{"all", "before-images", "none"} {
		g := got[known]
		t.Logf("contents known: %-13s %v", known, g)
		if g.precision() < wantPrecision {
			t.Errorf("contents known: %s: precision %.4f, want %v", known, g.precision(), wantPrecision)
		}
		want := map[string]float64{"all": wantRecall, "before-images": wantRecallBefore}[known]
		if g.recall() < want {
			t.Errorf("contents known: %s: recall %.4f, want %v", known, g.recall(), want)
		}
	}
	t.Logf("baseline, stored line numbers: precision %.4f recall %.4f", numbers.precision(), numbers.recall())
	t.Logf("baseline, content hashes:      precision %.4f recall %.4f", hashes.precision(), hashes.recall())
}

// byNumber is the first baseline: the newest record whose range has the line's number.
func byNumber(w *world, g *figures) {
	for i, l := range w.file {
		got := ""
		for _, e := range slices.Backward(w.entries) {
			for _, r := range e.Changes[0].Ranges {
				if got == "" && i+1 >= r.StartLine && i+1 <= r.EndLine {
					got = e.IntentID
				}
			}
		}
		g.add("", got, l.owner)
	}
}

// byHash is the second baseline: the newest record with a range that stands somewhere in the file, whole.
func byHash(w *world, g *figures) {
	var texts []string
	for _, l := range w.file {
		texts = append(texts, l.text)
	}
	got := make([]string, len(texts))
	for _, e := range slices.Backward(w.entries) {
		for _, r := range e.Changes[0].Ranges {
			n := r.EndLine - r.StartLine + 1
			for at := 0; at+n <= len(texts); at++ {
				if edit.HashLines(texts[at:at+n]) != r.ContentHash {
					continue
				}
				for k := at; k < at+n; k++ {
					if got[k] == "" {
						got[k] = e.IntentID
					}
				}
			}
		}
	}
	for i, l := range w.file {
		g.add("", got[i], l.owner)
	}
}
