package ask

import (
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Outcomes of a decision in the ledger.
const (
	Asked    = "asked"
	Approved = "approved"
	Denied   = "denied"
	Expired  = "expired"
	Revoked  = "revoked"
)

// Decision is a step of a request's life, for the ledger.
func Decision(r approval.Request, outcome string) record.Decision {
	d := record.Decision{Outcome: outcome, ErrorType: r.ErrorType(), Approval: r.ID, Paths: r.About()}
	for i, c := range r.Checks {
		if i == 0 {
			d.Hook, d.Reason = c.Hook, redact.Text(c.Reason)
			continue
		}
		d.Also = append(d.Also, c.ErrorType)
	}
	return d
}

// AnswerDecision is an answer, for the ledger.
func AnswerDecision(r approval.Request, a approval.Answer) record.Decision {
	d := Decision(r, Approved)
	d.Principal = a.By
	if a.Decision == approval.Deny {
		d.Outcome = Denied
	} else {
		for _, c := range r.Checks {
			d.Allowed = append(d.Allowed, c.Hook)
		}
	}
	if a.Reason != "" {
		d.Reason = a.Reason
	}
	return d
}

// Record is the ledger's record of a decision that an operator took outside of a call, at the command line.
func Record(r approval.Request, d record.Decision, way string) record.Record {
	return record.Record{
		Kind: record.KindDecision, IntentID: r.IntentID, Call: r.Tool, Session: r.Session, Client: record.Client{Name: r.Client},
		Contributor: record.Contributor{Type: record.ContributorHuman}, Decision: &d, Detail: map[string]any{"way": way},
	}
}
