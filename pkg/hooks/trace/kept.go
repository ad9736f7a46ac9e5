package trace

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// keep is called before the journal has the change: contents are written while the call waits for the journal's flush,
// which holds no other write up, and after a crash the recovered record has them too. Those of a change that fails then
// are never asked for, and grow old. They are kept when kept returns, which is before the record is in the ledger:
// whoever finds a record finds its contents, unless they are kept no longer.
func (r *Recorder) keep(rec record.Record, outcome *hooks.Outcome) (kept func()) {
	changed := outcome.Changed()
	if len(changed) == 0 {
		return func() {}
	}
	failed := make(chan error, 1)
	go func() {
		var err error
		for i, f := range changed[:min(len(changed), len(rec.Changes))] {
			err = cmp.Or(err, r.keepChange(rec.Changes[i], f))
		}
		failed <- err
	}()
	return sync.OnceFunc(func() {
		if err := <-failed; err != nil {
			outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("What the files held before and after could not be kept, so undo has only what git has (%v). Tell the user.", err))
		}
	})
}

// keepChange keeps the contents of one file, as far as they are there.
func (r *Recorder) keepChange(c record.Change, f hooks.FileOutcome) error {
	paths := []string{c.Path, c.From}
	var all []kept.Content
	for _, end := range [][2]change.Version{{c.Before, f.Before}, {c.After, f.After}} {
		if named, is := end[0], end[1]; named.OID != "" && (is.Bytes != nil || !f.Unread) {
			all = append(all, kept.Content{ID: named.OID, Bytes: is.Bytes, Paths: paths})
		}
	}
	return r.Contents.Put(all...)
}

// maxFound bounds one content that is taken over from a process that died, in bytes.
const maxFound = 64 << 20

// keepFound keeps what the files still tell of a change whose process died, perhaps before its own contents were
// written: the displaced content, which is removed right after, and what stands at the path.
func (r *Recorder) keepFound(rec record.Record, plan []change.Planned) {
	for _, p := range plan {
		c, ok := changeOf(rec.Changes, p.Path)
		if !ok {
			continue
		}
		paths := []string{c.Path, c.From}
		for _, content := range r.Workspace.Contents(p, maxFound) {
			for _, end := range []change.Version{c.Before, c.After} {
				if content.Hash == end.Hash {
					_ = r.Contents.Put(kept.Content{ID: end.OID, Bytes: content.Bytes, Paths: paths})
				}
			}
		}
	}
}
