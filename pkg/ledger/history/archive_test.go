package history_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/trailer"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

const segmentSize = 16 << 10

// records appends without a commit.
func (r *repository) records(n int, call string) {
	r.t.Helper()
	l := check.Value(ledger.Open(r.root, ledger.Options{Durability: ledger.DurabilityOS, Layout: r.layout, SegmentSize: -1}))(r.t)
	for i := range n {
		_, err := l.Append(context.Background(), record.Record{Kind: record.KindRead, Call: fmt.Sprint(call, i), Session: session})
		check.OK(r.t, err)
	}
	check.OK(r.t, l.Close(context.Background()))
}

func (r *repository) rotate() {
	r.t.Helper()
	before := len(r.archives())
	r.rotateIfLong()
	check.Must(r.t, len(r.archives()) != before, "nothing was rotated")
}

func (r *repository) archives() []string {
	return check.Value(filepath.Glob(filepath.Join(r.dir, ".orchestration/archive/*")))(r.t)
}

// wantIntact checks the chain, and the commits.
func (r *repository) wantIntact(records int) {
	r.t.Helper()
	if report := r.verify(); len(report.Problems) != 0 || report.Restored != 0 || len(report.Unproven) != 0 {
		r.t.Errorf("the history has %d problems, %+v; restored %d, unproven %v", len(report.Problems), first(report.Problems), report.Restored, report.Unproven)
	}
	report := check.Value(verify.Verify(context.Background(), r.root))(r.t)
	if len(report.Problems) != 0 || report.Records != records {
		r.t.Errorf("the ledger has %d records of %d, problems %+v", report.Records, records, report.Problems)
	}
}

func first(problems []ledger.Problem) []ledger.Problem { return problems[:min(len(problems), 3)] }

func TestARotationDropsNoLine(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		t.Run(string(layout), func(t *testing.T) {
			r := newRepository(t, layout, "")
			r.records(100, "a")
			r.commit("a")
			r.rotate()
			r.wantIntact(100) // the rotation is in the work tree only
			r.commit("rotate")
			r.wantIntact(100)
			for i := range 3 {
				r.records(60, fmt.Sprint("b", i))
				r.rotate()
				r.commit("append and rotate in one commit")
			}
			r.wantIntact(280)
		})
	}
}

func TestADroppedArchiveIsFound(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.records(100, "a")
	r.rotate()
	r.commit("a")
	gone := r.archives()[0]
	content := r.read(strings.TrimPrefix(gone, r.dir+"/"))
	check.OK(t, os.Remove(gone))
	wantDropped := func() {
		t.Helper()
		report := r.verify()
		if len(report.Problems) == 0 || report.Problems[0].Kind != history.ProblemDropped || report.Problems[0].Line != 1 ||
			!strings.HasSuffix(gone, report.Problems[0].Segment) {
			t.Errorf("problems %+v", first(report.Problems))
		}
	}
	wantDropped() // in the work tree
	r.commit("drop an archive")
	wantDropped()
	r.write(strings.TrimPrefix(gone, r.dir+"/"), content)
	if report := r.verify(); len(report.Problems) != 0 || report.Restored == 0 {
		t.Errorf("problems %+v, %d restored", first(report.Problems), report.Restored)
	}
}

func TestARotationWithoutItsArchiveIsFound(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.records(100, "a")
	r.commit("a")
	r.rotate()
	r.git("commit", "-qam", "forgets to add the archive")
	r.git("clean", "-qfd")
	if report := r.verify(); len(report.Problems) == 0 || report.Problems[0].Kind != history.ProblemDropped {
		t.Errorf("problems %+v", first(report.Problems))
	}
}

func TestADamagedArchiveInACommitIsSaid(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.records(100, "a")
	r.rotate()
	r.commit("a")
	name := strings.TrimPrefix(r.archives()[0], r.dir+"/")
	content := r.read(name)
	r.write(name, content[:len(content)/2]+"x"+content[len(content)/2+1:])
	r.commit("damage")
	r.write(name, content)
	r.commit("mend")
	report := r.verify()
	if len(report.Problems) != 0 || report.Restored == 0 || len(report.Unproven) != 1 || !strings.Contains(report.Unproven[0], "archive/") {
		t.Errorf("problems %+v, %d restored, unproven %v", first(report.Problems), report.Restored, report.Unproven)
	}
}

// TestBranchesThatBothRotatedMerge lets git merge with union what two branches appended, rotated and appended.
func TestBranchesThatBothRotatedMerge(t *testing.T) {
	for _, before := range []int{5, 100} { // lines that both have: in the files, or in archives of both
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			r := newRepository(t, ledger.LayoutSingle, "")
			r.records(before, "base")
			r.commit("base")
			for _, branch := range []string{"one", "two"} {
				r.git("checkout", "-q", "-b", branch, "main")
				r.records(100+10*len(r.archives()), branch)
				r.rotate()
				r.commit(branch)
				r.records(20, branch+"-more")
				r.commit(branch)
			}
			r.git("merge", "-q", "-m", "merge", "one")
			r.wantIntact(before + 240)
			r.records(1, "joins")
			report := check.Value(verify.Verify(context.Background(), r.root))(t)
			check.Equal(t, len(report.Heads), 1, "heads")
			r.rotateIfLong()
			r.commit("joined")
			r.wantIntact(before + 241)
			r.git("checkout", "-q", "main")
			r.git("merge", "-q", "--no-ff", "-m", "merge", "two")
			r.wantIntact(before + 241)
		})
	}
}

func (r *repository) rotateIfLong() {
	r.t.Helper()
	l := check.Value(ledger.Open(r.root, ledger.Options{Layout: r.layout, SegmentSize: segmentSize}))(r.t)
	check.OK(r.t, l.Rotate(context.Background()))
	check.OK(r.t, l.Close(context.Background()))
}

// TestLostLinesOfArchives finds those of an archive that a commit dropped, and none because of a rotation.
func TestLostLinesOfArchives(t *testing.T) {
	r := newRepository(t, ledger.LayoutSingle, "")
	r.records(100, "a")
	r.commit("a")
	r.rotate()
	r.commit("rotate")
	lost := func() (lines []mend.Line) {
		t.Helper()
		check.OK(t, history.Lost(context.Background(), r.root, nil, history.Visit{Line: func(l history.LostLine) error {
			lines = append(lines, mend.Line{Segment: l.Segment, Data: []byte(string(l.Data))})
			return nil
		}}))
		return lines
	}
	if lines := lost(); len(lines) != 0 {
		t.Errorf("%d lines are lost after a rotation", len(lines))
	}
	check.OK(t, os.Remove(r.archives()[0]))
	r.commit("drop")
	lines := lost()
	check.Must(t, len(lines) >= 20, "%d lines are lost", len(lines))
	check.OK(t, mend.PutBack(context.Background(), r.root, lines))
	if report := r.verify(); len(report.Problems) != 0 {
		t.Errorf("problems %+v", first(report.Problems))
	}
}

// TestCheckLost tells an empty ledger from one that is gone, by each thing that shows it.
func TestCheckLost(t *testing.T) {
	const intents = ".orchestration/active_intents.yaml"
	for name, c := range map[string]struct {
		make func(*repository)
		want string
	}{
		"new":              {func(r *repository) { r.write(intents, "") }, ""},
		"new, committed":   {func(r *repository) { r.write(intents, ""); r.commit("init") }, ""},
		"an empty file":    {func(r *repository) { r.write(tracePath, ""); r.commit("init") }, ""},
		"lines":            {func(r *repository) { r.record("one") }, ""},
		"of another tool":  {func(r *repository) { r.write(tracePath, "{}\n"); r.commit("init") }, ""},
		"garbage":          {func(r *repository) { r.write(tracePath, "<<<\n"); r.commit("init") }, ""},
		"a read session":   {func(r *repository) { r.write(".orchestration/state/sessions/a.json", `{"intent_id":""}`) }, ""},
		"in HEAD":          {func(r *repository) { r.record("one"); r.write(tracePath, "") }, "has ledger lines"},
		"in the past":      {func(r *repository) { r.record("one"); r.write(tracePath, ""); r.commit("gone") }, "has ledger lines"},
		"all of it":        {func(r *repository) { r.record("one"); r.git("rm", "-rqf", ".orchestration"); r.commit("gone") }, "has ledger lines"},
		"a trailer":        {func(r *repository) { r.write(intents, ""); r.commit("edit\n\n" + trailer.Key + ": INT-1") }, "names the intent"},
		"a trailer before": {func(r *repository) { r.commit("edit\n\n" + trailer.Key + ": INT-1"); r.write(intents, "") }, ""},
		"a seal":           {func(r *repository) { r.write(".orchestration/seals/x.note", "x") }, "seals/x.note is a seal"},
		"an index":         {func(r *repository) { r.write(".orchestration/cache/index/x", "x") }, "cache/index/x indexes records"},
		"an image":         {func(r *repository) { r.write(".orchestration/cache/images/x.pack", "x") }, "recorded changes"},
		"a selection":      {func(r *repository) { r.write(".orchestration/state/sessions/a.json", `{"intent_id":"INT-1"}`) }, "selected an intent"},
		"a torn line":      {func(r *repository) { r.write(".orchestration/state/torn-1.jsonl", "{") }, "tore"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, ledger.LayoutSingle, "")
			c.make(r)
			report := check.Value(verify.Verify(t.Context(), r.root))(t)
			switch lost := history.CheckLost(t.Context(), r.root, report); {
			case c.want == "" && len(lost) > 0:
				t.Errorf("nothing was lost: %v", lost)
			case c.want != "" && (len(lost) != 1 || lost[0].Kind != history.ProblemLost || !strings.Contains(lost[0].Detail, c.want)):
				t.Errorf("%v, want %q", lost, c.want)
			}
		})
	}
}
