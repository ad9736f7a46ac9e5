package trace

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/images"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// Images keeps contents by their git blob ids, but for those of secret paths.
// When Put returns, they are there for every process.
type Images interface {
	Put(kept ...images.Image) error
}

// KeepImages hands the contents before and after each recorded change to
// images, so that it can be undone. It is called before the first call.
func (r *Recorder) KeepImages(i Images) { r.images = i }

// keep is called before the journal has the change: the images are written
// while the call waits for the journal's flush, which holds no other write up,
// and after a crash the recovered record has them too. Those of a change that
// fails then are never asked for, and grow old. The images are kept when kept
// returns, which is before the record is in the ledger: whoever finds a record
// finds its contents, unless they are kept no longer.
func (r *Recorder) keep(rec ledger.Record, outcome *hooks.Outcome) (kept func()) {
	changed := outcome.Changed()
	if r.images == nil || len(changed) == 0 {
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
func (r *Recorder) keepChange(c ledger.Change, f hooks.FileOutcome) error {
	if r.images == nil {
		return nil
	}
	paths := []string{c.Path, c.From}
	var kept []images.Image
	if c.Before.OID != "" && (f.Before.Bytes != nil || !f.Unread) {
		kept = append(kept, images.Image{ID: c.Before.OID, Content: f.Before.Bytes, Paths: paths})
	}
	if c.After.OID != "" && c.After.OID != c.Before.OID && (f.After.Bytes != nil || !f.Unread) {
		kept = append(kept, images.Image{ID: c.After.OID, Content: f.After.Bytes, Paths: paths})
	}
	return r.images.Put(kept...)
}

// maxFound bounds one content that is taken over from a process that died, in
// bytes.
const maxFound = 64 << 20

// keepFound keeps what the files still tell of a change whose process died,
// perhaps before its own images were written: the displaced content, which is
// removed right after, and what stands at the path.
func (r *Recorder) keepFound(rec ledger.Record, plan []change.Planned) {
	if r.images == nil {
		return
	}
	for _, p := range plan {
		c, ok := changeOf(rec.Changes, p.Path)
		if !ok {
			continue
		}
		paths := []string{c.Path, c.From}
		for _, content := range r.files.Contents(p, maxFound) {
			switch string(content.Hash) {
			case c.Before.Hash:
				_ = r.images.Put(images.Image{ID: c.Before.OID, Content: content.Bytes, Paths: paths})
			case c.After.Hash:
				_ = r.images.Put(images.Image{ID: c.After.OID, Content: content.Bytes, Paths: paths})
			}
		}
	}
}
