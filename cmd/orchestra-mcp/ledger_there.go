package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

// verifiedLedger is the ledger's report for commands that mend it.
func verifiedLedger(ctx context.Context, root *os.Root) (verify.Report, error) {
	report, err := verify.Verify(ctx, root)
	if err != nil {
		return report, err
	}
	lost, _, err := operator.CheckThere(ctx, root, report)
	report.Problems = append(report.Problems, lost...)
	return report, err
}

// requireWorkspace ends a question where there is nothing that could answer it.
func requireWorkspace(root *os.Root) error {
	if _, err := root.Lstat(".orchestration"); errors.Is(err, fs.ErrNotExist) {
		return operator.NoWorkspace(root)
	}
	return nil
}

// nothingFound says why a question found no record, if that is not because there is none: it named what does not exist,
// or the ledger is gone.
func (q *question) nothingFound(ctx context.Context) error {
	some, err := q.has(ctx, record.Filter{})
	if err != nil {
		return err
	}
	if !some {
		report, err := verify.Verify(ctx, q.Root)
		if err != nil {
			return err
		}
		if lost := history.CheckLost(ctx, q.Root, report); len(lost) > 0 {
			return foundf("%s; orchestra-mcp ledger restore brings back what a commit has", lost[0].Detail)
		}
	}
	if err := q.knownIntent(ctx, q.filter.IntentID); err != nil {
		return err
	}
	if q.filter.Path != "" {
		if err := q.knownPath(ctx, q.filter.Path, q.path); err != nil {
			return err
		}
	}
	if q.filter.Session == "" {
		return nil
	}
	if some, err = q.has(ctx, record.Filter{Session: q.filter.Session}); err == nil && !some {
		err = mistakef("no record has the session %s; orchestra-mcp show RECORD tells a record's session", q.filter.Session)
	}
	return err
}

// has tells whether any record matches.
func (q *question) has(ctx context.Context, filter record.Filter) (bool, error) {
	filter.Newest, filter.Limit = true, 1
	found, err := q.Ledger.Query(ctx, filter)
	return len(found.Entries) > 0, err
}

// knownIntent is an error unless the intent is declared, or a record has it.
func (q *question) knownIntent(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	declared := q.intentsByID()
	if _, ok := declared[id]; ok {
		return nil
	}
	if some, err := q.has(ctx, record.Filter{IntentID: id}); some || err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(declared))
	return mistakef("no intent %s is declared, and no record has it%s; there are: %s", id, didYouMean(nearest.Of(id, ids)),
		cmp.Or(strings.Join(ids, ", "), "none"))
}

// knownPath is an error unless the path exists, or a record is about it.
func (q *question) knownPath(ctx context.Context, path, given string) error {
	if _, err := q.Root.Lstat(strings.TrimSuffix(path, "/")); err == nil {
		return nil
	}
	for _, form := range []string{path, strings.TrimSuffix(path, "/") + "/"} {
		if some, err := q.has(ctx, record.Filter{Path: form}); some || err != nil {
			return err
		}
	}
	return mistakef("there is no %s, and no record is about it%s", given, didYouMean(nearestPath(q.Root, path)))
}

// nearestPath is the path that exists and that was probably meant: the first part that does not exist is put right, and
// what follows it where that exists then.
func nearestPath(root *os.Root, path string) string {
	var right string
	for part := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		next := strings.TrimPrefix(right+"/"+part, "/")
		if _, err := root.Lstat(next); err == nil {
			right = next
			continue
		}
		entries, _ := durable.ReadDirectoryIn(root, cmp.Or(right, "."))
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		meant := nearest.Of(part, names)
		if meant == "" {
			return ""
		}
		right = strings.TrimPrefix(right+"/"+meant, "/")
	}
	return right
}
