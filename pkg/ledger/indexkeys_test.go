package ledger_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// matching gives a filter for each thing by which the entry can be found.
func matching(e record.Entry) []record.Filter {
	filters := []record.Filter{
		{ID: e.ID}, {ID: e.Hash}, {IntentID: e.IntentID}, {Class: e.MutationClass}, {Session: e.Session},
		{Kinds: []record.Kind{record.KindBuild, e.Kind}}, {Since: e.Time}, {Until: e.Time.Add(1)},
		{IntentID: e.IntentID, Kinds: record.ChangeKinds()}, {IntentID: e.IntentID, Kinds: []record.Kind{e.Kind}},
	}
	paths := e.Files
	for _, c := range e.Changes {
		paths = append(paths, c.Path, c.From)
	}
	if e.Decision != nil {
		paths = append(paths, e.Decision.Paths...)
	}
	for _, p := range paths {
		filters = append(filters, record.Filter{Path: p}, record.Filter{Path: path.Dir(p) + "/"})
		if at := strings.LastIndex(p, "/"); at >= 0 {
			filters = append(filters, record.Filter{Path: p[:at+1]})
		}
	}
	return filters
}

func checkProposed(t *testing.T, line []byte) {
	t.Helper()
	e, err := record.Parse(line)
	if err != nil {
		return
	}
	for _, f := range matching(e) {
		if f.Matches(e) && !ledger.Proposes(e.Raw, f) {
			t.Errorf("%+v matches and is not proposed:\n%s", f, line)
		}
	}
}

func TestTheIndexProposesEveryRecordThatMatches(t *testing.T) {
	for name, r := range everyKind() {
		line := check.Value(record.Encode(record.Entry{Record: r, ID: session, Time: fixedClock()()}))(t)
		checkProposed(t, line)
		if ledger.Proposes(line, record.Filter{IntentID: "INT-999"}) || ledger.Proposes(line, record.Filter{Path: "src/none"}) ||
			ledger.Proposes(line, record.Filter{Since: fixedClock()().Add(time.Second)}) {
			t.Errorf("%s is proposed for what it is not", name)
		}
	}
}

// FuzzIndexedLine looks for a line that readers take for a record and that the index would hide.
func FuzzIndexedLine(f *testing.F) {
	for _, r := range everyKind() {
		line := check.Value(record.Encode(record.Entry{Record: r, ID: session, Time: fixedClock()()}))(f)
		f.Add(line)
	}
	for _, odd := range []string{
		`{"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00Z","files":[{"path":"a/b"}]}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","intent\u005fid":"a"}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","intent_id" :"a","files":[ ]}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","files":[{"path":"a\\/b"},{"path":null}]}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","metadata":{"orchestra-mcp":{"kind":"decision","session":"a","detail":{"session":"b"},"decision":{"paths":["a", "b"]}}}}`,
	} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, line []byte) { checkProposed(t, line) })
}
