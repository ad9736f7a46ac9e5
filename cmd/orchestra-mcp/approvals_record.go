package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// Outcomes of a decision in the ledger.
const (
	outcomeApproved = "approved"
	outcomeDenied   = "denied"
	outcomeExpired  = "expired"
	outcomeRevoked  = "revoked"
)

// decisionOf is a step of a request's life, for the ledger.
func decisionOf(r approval.Request, outcome string) ledger.Decision {
	d := ledger.Decision{Outcome: outcome, ErrorType: r.ErrorType(), Approval: r.ID}
	for i, c := range r.Checks {
		if i == 0 {
			d.Hook, d.Reason = c.Hook, c.Reason
		} else {
			d.Also = append(d.Also, c.ErrorType)
		}
		d.Paths = append(d.Paths, c.Paths...)
	}
	return d
}

// answerDecision is an answer, for the ledger.
func answerDecision(r approval.Request, a approval.Answer) ledger.Decision {
	d := decisionOf(r, outcomeApproved)
	d.Principal = a.By
	if a.Decision == approval.Deny {
		d.Outcome = outcomeDenied
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

// record appends decisions about requests to the ledger, as a server does; it returns when they are on disk.
func (b *inbox) record(ctx context.Context, records ...ledger.Record) error {
	srv, err := b.openServer()
	if err != nil {
		return err
	}
	for _, r := range records {
		if _, appendErr := srv.Ledger().Append(ctx, r); appendErr != nil {
			err = appendErr
			break
		}
	}
	return errors.Join(err, srv.Close())
}

// recordOfDecision is the record of a decision. detail says more than its fields can.
func recordOfDecision(r approval.Request, d ledger.Decision, detail map[string]any) ledger.Record {
	record := ledger.Record{
		Kind: ledger.KindDecision, IntentID: r.IntentID, Call: r.Tool, Session: r.Session, Client: ledger.Client{Name: r.Client},
		Decision: &d, Detail: map[string]any{"way": approval.Inbox}, Contributor: ledger.Contributor{Type: ledger.ContributorHuman},
	}
	for key, value := range detail {
		record.Detail[key] = value
	}
	return record
}

// recordExpired writes down what this process found expired. It is no error of the command that found it.
func (b *inbox) recordExpired(ctx context.Context) {
	b.mu.Lock()
	expired := b.expired
	b.expired = nil
	b.mu.Unlock()
	if len(expired) == 0 {
		return
	}
	var records []ledger.Record
	for _, r := range expired {
		record := recordOfDecision(r, decisionOf(r, outcomeExpired), nil)
		record.Contributor = ledger.Contributor{} // nobody did it
		records = append(records, record)
	}
	if err := b.record(ctx, records...); err != nil {
		b.warn(fmt.Sprintf("%s expired, but could not be recorded: %v", numberOf(len(records), "request"), err))
	}
}
