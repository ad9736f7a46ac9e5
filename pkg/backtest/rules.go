package backtest

import (
	"context"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

func contentFields() []string {
	return []string{"effect.before", "effect.after", "effect.added", "effect.removed", "effect.before_size", "effect.after_size", "effect.binary"}
}

// evaluate asks a rule of the call. Where it looks at what is not here, it says what it said when the call was made, if it
// stood there then and was asked; else that is unknown.
func (w *worker) evaluate(ctx context.Context, r *rule.Rule, f *rule.Facts) (bool, error) {
	why := ""
	switch command := f.Effect.Kind == "command"; {
	case !command && f.Effect.Path != "" && w.lacks[f.Effect.Path] && r.Reads(contentFields()...):
		why = unknownContent
	case f.Upstream != nil && r.Reads("upstream.arguments"):
		why = unknownArguments
	case w.redacted && r.Reads("command.line", "command.programs", "upstream.urls", "upstream.commands"):
		why = unknownSecret
	case !command && f.Effect.Path != "" && w.entry.Class == nil && r.Reads("class.computed", "class.evidence"):
		why = unknownClass
	default:
		return r.Holds(ctx, f)
	}
	holds, known := w.said(r)
	if !known {
		w.unknown = why
	}
	return holds, nil
}

// said is what a rule said of the call when it was made, if it stood in what the call was judged by. The first that refused
// ended the asking.
func (w *worker) said(r *rule.Rule) (holds, known bool) {
	if w.own == nil {
		return false, false
	}
	all := w.own.rules(w.entry.IntentID)
	at := slices.IndexFunc(all, r.Same)
	switch {
	case at < 0:
		return false, false
	case w.askedBy("rules/" + r.Name):
		return true, true
	case w.recorded.Decision != Refused:
		return false, true // all checks have passed, or are asked about
	case w.recorded.Check != "rules":
		return false, w.isBehindRules(w.recorded.Check)
	}
	ended := slices.IndexFunc(all, func(r *rule.Rule) bool {
		stops := "Rule " + r.Name + " "
		return strings.HasPrefix(w.recorded.Reason, stops) || strings.Contains(w.recorded.Reason, "is stopped: "+stops) // of an edited call
	})
	return at == ended, at == ended || at < ended && r.Action != rule.Ask
}

// askedBy reports whether a check put its question.
func (w *worker) askedBy(check string) bool {
	return w.recorded.Decision == Asked && w.recorded.Check == check || w.entry.Judged != nil && slices.Contains(w.entry.Judged.Asked, check)
}

// isBehindRules: the rules have let pass what this check refused.
func (w *worker) isBehindRules(check string) bool {
	steps := gate.Steps()
	last := slices.IndexFunc(steps, func(s gate.Step) bool { return s.Name == "rules" })
	return !slices.ContainsFunc(steps[:last+1], func(s gate.Step) bool { return s.Name == check })
}
