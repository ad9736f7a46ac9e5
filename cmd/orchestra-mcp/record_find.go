package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

// minPrefix is how much of an id must be given, as for git's: fewer digits would often mean another record tomorrow.
const minPrefix = 4

// maxCandidates bounds how many records an ambiguous name is explained with.
const maxCandidates = 10

// findRecords finds each name: the id of a record or its beginning, or the hash of its line or its beginning. A name
// that is no record's, or several records', is a usage error that lists these.
func (q *question) findRecords(ctx context.Context, names []string) ([]operator.Record, []ledger.Problem, error) {
	for _, name := range names {
		if len(name) < minPrefix || strings.Trim(name, "0123456789abcdef-") != "" {
			return nil, nil, usageErrorf("%q is no record: give its id or the hash of its line as log shows them, at least the first %d characters",
				printable.Clip(name, 80), minPrefix)
		}
	}
	found, problems, err := q.Find(ctx, names)
	ambiguous, is := errors.AsType[*operator.Ambiguous](err)
	switch {
	case is:
		err = mistakef("%s is the beginning of %d records; give more of it:\n%s", ambiguous.Name, len(ambiguous.Matches), printer.Raw(q.candidates(ambiguous.Matches)))
	case errors.Is(err, operator.ErrNoRecord):
		err = mistakef("%w; orchestra-mcp log lists them", err)
	}
	return found, problems, err
}

func (q *question) candidates(matches []record.Entry) string {
	var list []string
	for _, e := range matches[:min(len(matches), maxCandidates)] {
		list = append(list, fmt.Sprintf("  %s  %s  %s", printable.Text(printable.Clip(operator.NameOf(e), 80)), e.Time.In(q.now().Location()).Format("2006-01-02 15:04:05"), brief.Line(e)))
	}
	if more := len(matches) - maxCandidates; more > 0 {
		list = append(list, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(list, "\n")
}
