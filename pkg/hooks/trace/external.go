package trace

import (
	"context"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

const (
	// lookupTime bounds the search for a file's last record, which is made
	// once for each file that this process changes, and only where the file
	// stood there before. The index answers in a few milliseconds. What is not
	// indexed yet, as when nobody has asked a long ledger anything, would take
	// seconds, and the file is locked meanwhile: then nothing is compared.
	lookupTime = 250 * time.Millisecond
	// maxKnown bounds the files of which the last record is kept in memory.
	maxKnown = 20_000
)

// lastRecords knows which content the last record of each file names, "" for
// a file that is gone. Safe for concurrent use.
type lastRecords struct {
	ledger *ledger.Ledger

	mu    sync.Mutex
	after map[string]string
}

// external reports whether somebody else changed a file since its last
// record. The caller still holds the file's lock, so nothing records it
// meanwhile.
func (l *lastRecords) external(ctx context.Context, path, before string) bool {
	l.mu.Lock()
	known, ok := l.after[path]
	l.mu.Unlock()
	if ok && known == before || !ok && before == "" {
		return false
	}
	// What differs from our own memory may be another server's record.
	if recorded, found := l.lookup(ctx, path); found {
		known, ok = recorded, true
	}
	return ok && known != before
}

func (l *lastRecords) lookup(ctx context.Context, path string) (after string, found bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	result, err := l.ledger.Query(ctx, ledger.Filter{Path: path, Kinds: append(ledger.ChangeKinds(), ledger.KindLifecycle), Limit: 1, Newest: true})
	if err != nil || len(result.Entries) == 0 {
		return "", false
	}
	for _, c := range result.Entries[0].Changes {
		switch path {
		case c.Path:
			return c.After, true
		case c.From:
			return "", true
		}
	}
	return "", false
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
		l.after[f.Path] = f.AfterHash
	}
}
