package backtest

import (
	"context"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// batchSize is how many records a worker gets at a time.
const batchSize = 256

// calls gives the records that stand for calls of agents, each call once, in batches. A question stands for its call where no
// record of the call itself follows.
func calls(ctx context.Context, o *Options, give func([]record.Entry)) ([]ledger.Problem, error) {
	var batch []record.Entry
	add := func(e record.Entry) {
		if batch = append(batch, e); len(batch) == batchSize {
			give(batch)
			batch = nil
		}
	}
	questions, answered := map[string]record.Entry{}, map[string]bool{} // by their approvals
	parts := map[string]record.Entry{}                                  // of records of several lines
	problems, err := o.Ledger.Each(ctx, record.Filter{Since: o.Since, Until: o.Until}, func(e record.Entry) error {
		if !isCall(e) {
			return nil
		}
		e.Raw = nil
		if e.Part != nil && e.Part.Count > 1 {
			whole := joined(parts, e)
			if whole == nil {
				return nil
			}
			e = *whole
		}
		if id := questionOf(e); id != "" {
			questions[id] = e
			return nil
		}
		if e.Judged != nil && e.Judged.Approval != "" { // it came back with the answer
			answered[e.Judged.Approval] = true
			delete(questions, e.Judged.Approval)
		}
		add(e)
		return nil
	})
	for id, e := range questions {
		if !answered[id] { // of several segments, the question's can be the later one
			add(e)
		}
	}
	give(batch)
	return problems, err
}

// joined is a record with the changes of all its lines, nil as long as there are more to come.
func joined(parts map[string]record.Entry, e record.Entry) *record.Entry {
	whole, begun := parts[e.Part.Of]
	if !begun {
		if e.Part.Index > 1 { // the first line, which says what it is, is of no call
			return nil
		}
		whole = e
		whole.Changes = nil
	}
	whole.Changes = append(slices.Clip(whole.Changes), e.Changes...)
	parts[e.Part.Of] = whole
	if e.Part.Index < e.Part.Count {
		return nil
	}
	delete(parts, e.Part.Of)
	return &whole
}

// isCall tells a record of a call that the agent's gate decided from all others. Of a command in the background it is the
// record of the start; what a crash left unrecorded is the call's own.
func isCall(e record.Entry) bool {
	if e.Contributor.Type == record.ContributorHuman || e.Policy == "" && e.Detail[record.DetailStaged] != nil { // the operator took it over
		return false
	}
	switch e.Kind {
	case record.KindDecision:
		return e.Decision != nil && (e.Decision.Outcome == Asked || e.Decision.Outcome == Refused && !slices.Contains(endings(), e.Decision.ErrorType))
	case record.KindMutation, record.KindSelection, record.KindLifecycle, record.KindRead:
	case record.KindCommand:
		return e.Command == nil || e.Command.Job == "" || e.Command.Started
	case record.KindRecovered:
		if e.Detail[record.DetailRetracts] != nil || e.Detail["gap"] != nil || e.Command != nil && e.Command.Job != "" {
			return false
		}
	default:
		return false
	}
	return e.Detail["ungoverned"] == nil
}

// endings are why a call came to no decision, or to one that no policy makes.
func endings() []string {
	return []string{string(refusal.Busy), string(refusal.Cancelled), string(refusal.InternalError), string(refusal.RoleForbidden)}
}

// questionOf is the question that a record is all that is told of, "" for none.
func questionOf(e record.Entry) string {
	switch {
	case e.Kind != record.KindDecision:
		return ""
	case e.Decision.Outcome == Asked:
		return e.Decision.Approval
	case wasAsked(e):
		return e.Judged.Approval
	}
	return ""
}

// wasAsked: the call ended with a question, or with the answer no.
func wasAsked(e record.Entry) bool {
	return e.Judged != nil && e.Judged.Approval != "" && (e.Decision.ErrorType == string(refusal.ApprovalRequired) || e.Decision.ErrorType == string(refusal.ApprovalRejected))
}

// recorded is what was decided about a call.
func recorded(e record.Entry) Decision {
	switch d := e.Decision; {
	case d != nil && e.Kind == record.KindDecision && (d.Outcome == Asked || wasAsked(e)):
		return Decision{Asked, d.ErrorType, d.Hook, d.Reason}
	case d != nil && e.Kind == record.KindDecision:
		return Decision{Refused, d.ErrorType, d.Hook, d.Reason}
	case e.Judged != nil && len(e.Judged.Asked) > 0:
		return Decision{Decision: Asked, Check: e.Judged.Asked[0]}
	}
	return Decision{Decision: Allowed}
}
