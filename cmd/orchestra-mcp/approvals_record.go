package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

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

// inboxRecord is the record of a decision that was taken at the command line. detail says more than its fields can.
func inboxRecord(r approval.Request, d ledger.Decision, detail map[string]any) ledger.Record {
	record := ask.Record(r, d, approval.Inbox)
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
		record := inboxRecord(r, ask.Decision(r, ask.Expired), nil)
		record.Contributor = ledger.Contributor{} // nobody did it
		records = append(records, record)
	}
	if err := b.record(ctx, records...); err != nil {
		b.warn(fmt.Sprintf("%s expired, but could not be recorded: %v", numberOf(len(records), "request"), err))
	}
}
