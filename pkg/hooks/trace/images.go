package trace

import (
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Images keeps contents by their git blob ids. When Put returns, they are there
// for every process.
type Images interface {
	Put(oid string, content []byte)
}

// KeepImages hands the contents before and after each recorded change to
// images, so that it can be undone. It is called before the first call.
func (r *Recorder) KeepImages(images Images) { r.images = images }

// keep is called before the journal has the change: the images are written
// while the call waits for the journal's flush, which holds no other write up,
// and after a crash the recovered record has them too. Those of a change that
// fails then are never asked for, and grow old. The images are kept when kept
// returns, which is before the call is answered.
func (r *Recorder) keep(rec ledger.Record, outcome *hooks.Outcome) (kept func()) {
	changed := outcome.Changed()
	if r.images == nil || len(changed) == 0 {
		return func() {}
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for i, f := range changed[:min(len(changed), len(rec.Changes))] {
			r.keepChange(rec.Changes[i], f)
		}
	})
	return writing.Wait
}

// keepChange keeps the contents of one file, as far as they are there.
func (r *Recorder) keepChange(c ledger.Change, f hooks.FileOutcome) {
	if r.images == nil {
		return
	}
	if c.BeforeOID != "" && (f.Before != nil || !f.Unread) {
		r.images.Put(c.BeforeOID, f.Before)
	}
	if c.AfterOID != "" && c.AfterOID != c.BeforeOID && (f.After != nil || !f.Unread) {
		r.images.Put(c.AfterOID, f.After)
	}
}

// maxFound bounds one content that is taken over from a process that died, in
// bytes.
const maxFound = 64 << 20

// keepFound keeps what the files still tell of a change whose process died,
// perhaps before its own images were written: the displaced content, which is
// removed right after, and what stands at the path.
func (r *Recorder) keepFound(rec ledger.Record, plan []workspace.Planned) {
	if r.images == nil {
		return
	}
	for _, p := range plan {
		c, ok := changeOf(rec.Changes, p.Path)
		if !ok {
			continue
		}
		for _, content := range r.files.Contents(p, maxFound) {
			switch string(content.Hash) {
			case c.Before:
				r.images.Put(c.BeforeOID, content.Bytes)
			case c.After:
				r.images.Put(c.AfterOID, content.Bytes)
			}
		}
	}
}
