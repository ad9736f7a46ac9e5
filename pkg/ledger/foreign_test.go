package ledger_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// TestTracesOfEarlierTools finds each of their forms by path and by intent, read through the index and without it, and
// reads of each what it says.
func TestTracesOfEarlierTools(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	forms := map[string]struct {
		line, path, intent, class, model string
		at                               time.Time
	}{
		"flat":          {`{"id":"1","timestamp":"2026-01-02T03:04:05.678Z","intent_id":"INT-A","mutation_class":"AST_REFACTOR","path":"src/flat.ts","content_hash":"` + hash + `"}`, "src/flat.ts", "INT-A", "AST_REFACTOR", "", time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		"flat, file":    {`{"req_id":"2","timestamp":"2026-01-02 03:04:05","intent_id":"INT-A","file":"./src/file.ts","tool":"write_to_file","ranges":{"start_line":1,"end_line":3}}`, "src/file.ts", "INT-A", "", "", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"flat, names":   {`{"id":"3","timestamp":5,"intentId":"INT-B","relative_path":"src\\names.ts","ranges":[[1,2]],"model":"m"}`, "src/names.ts", "INT-B", "", "m", time.Time{}},
		"list of names": {`{"id":"4","intent_id":"INT-C","files":["src/one.ts","src/two.ts"],"vcs":"none"}`, "src/two.ts", "INT-C", "", "", time.Time{}},
		"nested": {`{"id":"5","version":1,"timestamp":"2026-01-02T03:04:05Z","vcs":{"revision_id":"c0ffee"},"files":[{"relative_path":"src/nested.ts","conversations":[` +
			`{"url":"task","contributor":{"entity_type":"AI","model_identifier":"claude"},"meta":{"mutation_class":"INTENT_EVOLUTION"},"ranges":[{"start_line":1,"end_line":2,"content_hash":"sha256:` + hash + `"}],` +
			`"related":[{"type":"specification","value":"INT-D"},{"type":"ticket","value":"INT-E"}]}]}]}`, "src/nested.ts", "INT-D", "INTENT_EVOLUTION", "claude", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"nested, both": {`{"id":"6","intent_id":"INT-F","files":[{"path":"src/both.ts","relative_path":"src/both.ts","conversations":{"x":1}}]}`, "src/both.ts", "INT-F", "", "", time.Time{}},
		"hardly any":   {`{"of":"another tool","files":7,"path":["x"],"intent_id":null,"metadata":[]}`, "", "", "", "", time.Time{}},
	}
	w := newWorkspace(t)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		lines = append(lines, forms[name].line)
	}
	w.write(tracePath, strings.Join(lines, "\n")+"\n")
	for range 2 { // without an index, and with that of the first
		l := w.open(ledger.Options{})
		appendOne(t, l, mutation("INT-Z", "src/ours.ts"))
		for name, form := range forms {
			e := check.Value(record.Parse([]byte(form.line)))(t)
			if e.IntentID != form.intent || e.MutationClass != form.class || e.Contributor.ModelID != form.model || !e.Time.Equal(form.at) ||
				form.path != "" && !slices.Contains(e.Files, form.path) || e.Kind != "" || len(e.Changes) > 0 {
				t.Errorf("%s is read as %+v", name, e)
			}
			for _, f := range []record.Filter{{Path: form.path}, {IntentID: form.intent}, {Path: "src/", IntentID: form.intent, Newest: true}} {
				if form.path == "" {
					continue
				}
				found := query(t, l, f)
				if len(found.Problems) > 0 || !slices.ContainsFunc(found.Entries, func(e record.Entry) bool { return string(e.Raw) == form.line }) {
					t.Errorf("%s is not found by %+v: %v", name, f, found.Problems)
				}
			}
		}
		if found := query(t, l, record.Filter{IntentID: "INT-E"}); len(found.Entries) != 1 {
			t.Errorf("%d entries by the second related intent", len(found.Entries))
		}
		if found := query(t, l, record.Filter{Path: "src/ours.ts"}); len(found.Entries) == 0 {
			t.Error("ours is not found any more")
		}
		check.OK(t, l.Close(t.Context()))
	}
}
