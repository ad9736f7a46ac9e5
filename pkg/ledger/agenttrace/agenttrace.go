package agenttrace

import (
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/change"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ErrNotExportable: the record cannot be told as Agent Trace.
var ErrNotExportable = errors.New("the record is not valid as Agent Trace")

// Changed reports whether a record is one of ours that changed files. Others have nothing to tell in Agent Trace.
func Changed(e record.Entry) bool {
	if e.Kind == "" {
		return false
	}
	for _, c := range e.Changes {
		if c.Op != change.Unchanged {
			return true
		}
	}
	return false
}

// Line gives the record as one line of JSON, without a newline: as it stands in the ledger, or, if strict, with all keys
// that Agent Trace does not name moved into metadata.
func Line(e record.Entry, strict bool) ([]byte, error) {
	if _, err := uuid.Parse(e.ID); err != nil || len(e.ID) != 36 {
		return nil, fmt.Errorf("%w: its id is no UUID", ErrNotExportable)
	}
	line, err := record.Encode(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotExportable, err)
	}
	if !strict {
		return line, nil
	}
	line, err = closed(line)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotExportable, err)
	}
	return line, nil
}
