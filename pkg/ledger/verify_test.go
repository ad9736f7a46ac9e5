package ledger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestVerifyFindsEveryChangeOfAFollowedLine(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	for i := range 4 {
		appendOne(t, l, record.Record{Kind: record.KindRead, Call: fmt.Sprint(i)})
	}
	whole := w.read(tracePath)
	followed := len(whole) - len(w.lines(tracePath)[3]) - 1
	check := func(what, content string) {
		t.Helper()
		check.OK(t, os.WriteFile(w.path(tracePath), []byte(content), 0o644))
		if report := w.verify(); len(report.Problems) == 0 {
			t.Errorf("%s is not found", what)
		}
	}
	for i := range followed {
		if whole[i] == '\n' && i+1 < followed {
			continue // joined with the next line, below
		}
		check(fmt.Sprintf("flip of byte %d", i), whole[:i]+string(whole[i]^1)+whole[i+1:])
	}
	lines := strings.SplitAfter(whole, "\n")
	check("removal of the first", strings.Join(lines[1:], ""))
	check("removal of one between", lines[0]+lines[2]+lines[3])
	check("two lines joined", strings.TrimSuffix(lines[0], "\n")+strings.Join(lines[1:], ""))
	check("a line cut in two", lines[0][:30]+"\n"+lines[0][30:]+strings.Join(lines[1:], ""))
	w.write(tracePath, lines[3]+lines[1]+lines[0]+lines[1]+lines[2])
	w.wantRecords(4) // order and duplicates mean nothing
	w.write(tracePath, strings.Join(lines[1:], ""))
	report := w.verify()
	second := query(t, l, record.Filter{Limit: 1}).Entries[0]
	if p := report.Problems[0]; p.Kind != ledger.ProblemMissing || p.Line != 1 || p.Record != second.ID ||
		p.Segment != "agent_trace.jsonl" || !strings.Contains(p.Detail, second.Prev[0]) {
		t.Errorf("problem %+v", p)
	}
	w.write(tracePath, whole)
}
