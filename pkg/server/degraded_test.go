package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func degraded(o *server.Options) { o.Settings.Ledger.OnFailure = settings.Degraded }

// block puts something in the place of a file that cannot be written.
func block(t *testing.T, at string) (unblock func()) {
	t.Helper()
	aside := at + ".aside"
	check.OK(t, os.Rename(at, aside))
	check.OK(t, os.Mkdir(at, 0o755))
	return func() {
		check.OK(t, os.Remove(at))
		check.OK(t, os.Rename(aside, at))
	}
}

// gaps are the counts that records tell of calls without one.
func (b *bench) gaps() []string {
	b.t.Helper()
	found := check.Value(b.server.Ledger().Query(b.t.Context(), record.Filter{Kinds: []record.Kind{record.KindRecovered}}))(b.t)
	b.gapsMeant = true
	var counts []string
	for _, e := range found.Entries {
		if gap, ok := e.Detail["gap"].(map[string]any); ok {
			count := fmt.Sprint(gap["calls"])
			if decisions, ok := gap["decisions"]; ok {
				count += fmt.Sprintf("+%v", decisions)
			}
			counts = append(counts, count)
			check.That(b.t, gap["since"] != nil && gap["until"] != nil, "a gap without its time: %v", gap)
		}
	}
	return counts
}

func (b *bench) unrecorded(session, path string) {
	b.t.Helper()
	r := b.OK("write_to_file", args{"session": session, "path": path, "content": "unrecorded\n"})
	warnings, _ := r.Object["warnings"].([]any)
	check.That(b.t, len(warnings) != 0 && strings.Contains(fmt.Sprint(warnings), "NOT RECORDED") && r.Object["record_id"] == "",
		"%s: no warning that it has no record: %v", path, r.Object)
}

// By default a ledger that cannot be written refuses; nothing is changed.
func TestUnwritableLedgerRefuses(t *testing.T) {
	t.Parallel()
	b, session := start(t, newWorkspace(t)).under("INT-001")
	b.OK("write_to_file", args{"session": session, "path": "src/first.txt", "content": "1\n"})
	unblock := block(t, ledgertest.File(b.dir))
	b.Refused("LEDGER_UNAVAILABLE", "write_to_file", args{"session": session, "path": "src/second.txt", "content": "2\n"})
	_, err := os.Stat(filepath.Join(b.dir, "src/second.txt"))
	check.That(t, err != nil, "a refused call made its file")
	unblock()
	b.OK("write_to_file", args{"session": session, "path": "src/second.txt", "content": "2\n"})
}

// With ledger.on_failure degraded calls go through with a warning, and the next record says how many there were.
func TestDegradedCountsTheGap(t *testing.T) {
	t.Parallel()
	b, session := start(t, newWorkspace(t), degraded).under("INT-001")
	b.OK("write_to_file", args{"session": session, "path": "src/first.txt", "content": "1\n"})
	unblock := block(t, ledgertest.File(b.dir))
	b.unrecorded(session, "src/second.txt")
	b.unrecorded(session, "src/third.txt")
	unblock()
	r := b.OK("write_to_file", args{"session": session, "path": "src/fourth.txt", "content": "4\n"})
	check.That(t, r.Object["record_id"] != "", "not recorded although the ledger is in order")
	got := b.gaps()
	check.That(t, slices.Equal(got, []string{"2"}), "gaps %v, want one of 2 calls", got)
	b.OK("write_to_file", args{"session": session, "path": "src/fifth.txt", "content": "5\n"})
	if got := b.gaps(); len(got) != 1 {
		t.Errorf("the gap is told again: %v", got)
	}
	left, _ := filepath.Glob(filepath.Join(b.dir, ".orchestration/state/gaps/*"))
	check.That(t, len(left) == 0, "left behind: %v", left)
}

// Where nothing of ours can be written, the count lives as long as the server.
func TestDegradedWithoutState(t *testing.T) {
	t.Parallel()
	b, session := start(t, newWorkspace(t), degraded).under("INT-001")
	b.OK("write_to_file", args{"session": session, "path": "src/first.txt", "content": "1\n"})
	check.Write(t, b.dir, ".orchestration/state/gaps", "in the way\n")
	openJournal := block(t, filepath.Join(b.dir, ".orchestration/state/inflight"))
	check.OK(t, os.Remove(filepath.Join(b.dir, ".orchestration/state/inflight")))
	check.Write(t, b.dir, ".orchestration/state/inflight", "in the way\n")
	unblock := block(t, ledgertest.File(b.dir))
	b.unrecorded(session, "src/second.txt")
	unblock()
	openJournal()
	b.OK("write_to_file", args{"session": session, "path": "src/third.txt", "content": "3\n"})
	got := b.gaps()
	check.That(t, slices.Equal(got, []string{"1"}), "gaps %v, want one of 1 call", got)
}

// A gap outlives its server; another server, or the next one, tells it once its process is gone.
func TestGapOutlivesItsServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, session := start(t, dir, degraded).under("INT-001")
	b.OK("write_to_file", args{"session": session, "path": "src/first.txt", "content": "1\n"})
	unblock := block(t, ledgertest.File(dir))
	b.unrecorded(session, "src/second.txt")
	unblock()
	other, others := start(t, dir).under("INT-005")
	other.OK("write_to_file", args{"session": others, "path": "other.txt", "content": "1\n"})
	got := other.gaps()
	check.That(t, len(got) == 0, "a gap of a living server was told by another: %v", got)
	if err := b.server.Close(); err != nil { // as its end would: the kernel gives its locks back
		t.Error(err)
	}
	b.closed = true
	third := start(t, dir).connect()
	others = third.Selects("INT-005")
	third.OK("write_to_file", args{"session": others, "path": "third.txt", "content": "1\n"})
	if got := third.gaps(); !slices.Equal(got, []string{"1"}) {
		t.Errorf("gaps %v, want one of 1 call", got)
	}
	problems := third.problems()
	check.That(t, len(problems) == 1 && problems[0].Kind == ledger.ProblemUnrecorded, "verify says %+v", problems)
}

// A decision that cannot be recorded is counted by the next record, and verify says so, whatever ledger.on_failure is.
func TestLostDecisionIsCounted(t *testing.T) {
	t.Parallel()
	b, session := start(t, newWorkspace(t)).under("INT-001")
	b.server.Ledger().AppendSoon(record.Record{Kind: "no kind"})
	b.server.Ledger().AppendSoon(record.Record{Kind: record.KindDecision, Decision: &record.Decision{
		Outcome: "refused", Reason: strings.Repeat("x", 9<<20),
	}})
	b.OK("write_to_file", args{"session": session, "path": "src/first.txt", "content": "1\n"})
	got := b.gaps()
	check.That(t, slices.Equal(got, []string{"0+2"}), "gaps %v, want one of 2 decisions", got)
	if problems := b.problems(); len(problems) != 1 || problems[0].Kind != ledger.ProblemUnrecorded || !strings.Contains(problems[0].Detail, "0 calls and 2 decisions") {
		t.Errorf("verify says %+v", problems)
	}
}

// No refusal is lost, whatever it is about.
func TestEveryRefusalIsRecorded(t *testing.T) {
	t.Parallel()
	b, session := start(t, newWorkspace(t)).under("INT-001")
	recorded := func(what, tool string, a args) {
		t.Helper()
		a["session"] = session
		before := len(b.ledgerLines())
		r := b.Call(tool, a)
		check.OK(t, b.server.Ledger().Flush(t.Context()))
		after := len(b.ledgerLines())
		check.That(t, r.Error && after == before+1, "%.60q: %d records: %.300s", what, after-before, r.Text)
	}
	for _, path := range []string{
		"docs/x", "../x", "/etc/passwd", ".git/config", "src/\x00x", "src/a\nb", "src/" + strings.Repeat("x", 300), strings.Repeat("d/", 2000) + "x",
		strings.Repeat("é", 4000), "docs/\u202ex", "docs/\ufffd", ".", "src", "docs//x/", "C:\\x", "docs/" + strings.Repeat("<", 4000),
	} {
		recorded(path, "write_to_file", args{"path": path, "content": "x"})
	}
	// A patch is content, which has no bound of its own; the paths in it have none either.
	long := "docs/" + strings.Repeat("x", 9<<20)
	recorded("a long path", "apply_patch", args{"patch": patch("*** Delete File: " + long)})
	problems := b.problems()
	check.That(t, len(problems) == 0, "verify says %+v", problems)
}
