package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// followLog prints the last records, then each new one at once, until the operator interrupts. The tail is taken first,
// so that no record falls between the two.
func (q *question) followLog(ctx context.Context, filter ledger.Filter, asJSON bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tail, err := q.records.Tail(ctx)
	if err != nil {
		return err
	}
	last, err := q.lastRecords(ctx, filter)
	if err != nil {
		return err
	}
	printer := newLogPrinter(q.app, q.out, asJSON)
	shown := map[string]bool{}
	for _, e := range last.Entries {
		shown[e.Hash] = true
		if err := printer.print(e); err != nil {
			return err
		}
	}
	if err := q.reportUnread(ctx, last.Problems); err != nil {
		return err
	}
	return tail.Follow(ctx, filter, func(e ledger.Entry) error {
		if shown[e.Hash] {
			return nil
		}
		return printer.print(e)
	})
}

// lastRecords gives the last matches, oldest first.
func (q *question) lastRecords(ctx context.Context, filter ledger.Filter) (ledger.Result, error) {
	filter.Newest = true
	last, err := q.records.Query(ctx, filter)
	slices.Reverse(last.Entries)
	return last, err
}
