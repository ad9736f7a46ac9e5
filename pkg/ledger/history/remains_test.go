package history_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/trailer"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

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
		"an image":         {func(r *repository) { r.write(".orchestration/cache/images/x.zst", "x") }, "recorded changes"},
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
