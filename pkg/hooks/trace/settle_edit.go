package trace

import (
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// editOf reads the edit of a governance file back from its record.
func editOf(rec record.Record) (hooks.Edit, bool) {
	detail, ok := rec.Detail[hooks.DetailEdit].(map[string]any)
	if !ok || rec.Kind != record.KindLifecycle && rec.Kind != record.KindSelection {
		return hooks.Edit{}, false
	}
	word := func(key string) string {
		text, _ := detail[key].(string)
		return text
	}
	edit := hooks.Edit{Path: word(hooks.DetailEditPath), Before: word(hooks.DetailEditBefore), After: word(hooks.DetailEditAfter)}
	return edit, edit.Path == intent.FilePath
}

// editVerdict tells from the intents file whether an edit happened whose
// process died: it is as before, or as the edit made it. Where it is neither,
// somebody changed it since, and the record says that it is not sure. Of the
// file nothing is written: it is the operator's.
func (r *Recorder) editVerdict(o *journal.Orphan, draft *ledger.Draft, edit hooks.Edit, known bool) (*ledger.Draft, error) {
	now, err := intent.FileHash(r.Workspace.Root())
	if err != nil {
		return nil, fmt.Errorf("find out what became of %s: %w", edit.Path, err)
	}
	rec := draft.Record()
	switch {
	case known && now != edit.Before:
		return nil, nil // it stands, and so does its record
	case known:
		rec.Kind = record.KindRecovered
		rec.Detail = map[string]any{record.DetailRetracts: draft.ID(), "reason": "the ledger could not be flushed, and the edit was taken back"}
		return r.Ledger.DraftAs(retractionID(draft), rec)
	case now == edit.Before:
		return nil, nil
	}
	detail := map[string]any{"of": string(rec.Kind), "began": o.Began.UTC().Format(time.RFC3339Nano)}
	if now != edit.After {
		detail["certainty"] = "probable"
	}
	rec.Kind, rec.Detail = record.KindRecovered, detailOf(rec.Detail, detail)
	return r.Ledger.Redraft(draft, rec)
}
