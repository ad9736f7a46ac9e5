package trace

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	// lookupTime bounds the search for a file's last record, which is made once for each file that this process
	// changes, and only where the file stood there before. The index answers in a few milliseconds. What is not indexed
	// yet, as when nobody has asked a long ledger anything, would take seconds, and the file is locked meanwhile: then
	// nothing is compared.
	lookupTime = 250 * time.Millisecond
	// maxBack bounds the records of a file that are looked at.
	maxBack = 1000
	// maxKnown bounds the files of which the last record is kept in memory.
	maxKnown = 20_000
)

// lastRecords knows which content the last record of each file names, "" for
// a file that is gone. Safe for concurrent use.
type lastRecords struct {
	ledger *ledger.Ledger
	bring  func(ctx context.Context) // what git has fetched of others' records

	mu    sync.Mutex
	after map[string]string
}

// external reports whether somebody else changed a file since the records of it. The caller still holds the file's
// lock, so nothing records it meanwhile.
func (l *lastRecords) external(ctx context.Context, path, before string) bool {
	l.mu.Lock()
	known, ok := l.after[path]
	l.mu.Unlock()
	if ok && known == before || !ok && before == "" {
		return false
	}
	// What differs from our own memory may be another server's record.
	found, is := l.lookup(ctx, path, before)
	if !is { // or of another machine's
		l.bring(ctx)
		found, is = l.lookup(ctx, path, before)
	}
	return (ok || found) && !is
}

// lookup finds whether the ledger has records of a file, and whether one of them knows it as it is. That need not be the last
// one: work trees on several branches share a ledger.
func (l *lastRecords) lookup(ctx context.Context, path, content string) (found, is bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	for _, most := range []int{1, maxBack} {
		result, err := l.ledger.Query(ctx, record.Filter{Path: path, Kinds: append(record.ChangeKinds(), record.KindLifecycle), Limit: most, Newest: true})
		if err != nil {
			return false, false
		}
		for _, e := range result.Entries {
			for _, c := range e.Changes {
				if path == c.Path || path == c.From {
					found, is = true, is || knows(c, path, content)
				}
			}
		}
		if is || len(result.Entries) < most {
			break
		}
	}
	return found, is
}

// knows reports whether a change left a file as it is, or found it so where nobody else had a hand in it.
func knows(c record.Change, path, content string) bool {
	after, before := c.After.Hash, ""
	if path != c.Path {
		after = ""
	}
	if path == cmp.Or(c.From, c.Path) && !c.ExternalBefore {
		before = c.Before.Hash
	}
	return content == after || content != "" && content == before
}

// recorded remembers what a record says of its files.
func (l *lastRecords) recorded(files []hooks.FileOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.after) > maxKnown {
		clear(l.after)
	}
	for _, f := range files {
		if f.From != "" {
			l.after[f.From] = ""
		}
		l.after[f.Path] = f.After.Hash
	}
}
