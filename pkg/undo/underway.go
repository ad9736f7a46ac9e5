package undo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// isUnderWay reports whether a call whose id begins so has begun and has no record yet.
func (l *lookup) isUnderWay(prefix string) bool {
	calls, err := l.underWay()
	return err == nil && slices.ContainsFunc(calls, func(call Touch) bool { return strings.HasPrefix(call.Record, prefix) })
}

// underWayOf gives the calls of an intent that have no record yet; none where records were asked for.
func (l *lookup) underWayOf(intentID string) ([]Touch, error) {
	if intentID == "" {
		return nil, nil
	}
	calls, err := l.underWay()
	return slices.DeleteFunc(calls, func(call Touch) bool { return call.IntentID != intentID }), err
}

// startOnly says where the changes of a background command are, of whose start the record is.
func (l *lookup) startOnly(id, job string) error {
	end := ""
	err := l.scan([]string{`"` + job + `"`}, func(e record.Entry) {
		if e.Command != nil && e.Command.Job == job && !e.Command.Started {
			end = whole(e)
		}
	})
	switch {
	case err != nil:
		return err
	case end != "":
		return fmt.Errorf("%w: %s is the record of the start of a background command; what it changed is in that of its end, %s", ErrNoRecord, id, end)
	}
	return fmt.Errorf("%w: %s is the record of the start of the background command %s; what it changes is recorded when it ends", ErrNotYet, id, job)
}
