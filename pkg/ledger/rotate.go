package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/rotation"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

// rotator moves lines into archives while the writer goes on.
type rotator struct {
	ctx    context.Context // ends when the Ledger is closed
	cancel context.CancelFunc
	busy   atomic.Bool      // whoever sets it has what stands below
	retry  map[string]int64 // the length at which a file is tried again that could not be rotated
	done   sync.WaitGroup
}

// rotateLong begins a rotation if a file that was just appended to is long enough. It does not wait for it. After a failure
// the next try waits until the file has grown again.
func (l *Ledger) rotateLong() {
	r := l.rotation
	for name, s := range l.segments {
		if l.opts.SegmentSize < 0 || s.End <= l.opts.SegmentSize || !r.busy.CompareAndSwap(false, true) {
			continue
		}
		size, root := s.End, s.Top.Root()
		if size < r.retry[name] {
			r.busy.Store(false)
			continue
		}
		r.done.Go(func() {
			defer r.busy.Store(false)
			err := rotation.File(r.ctx, root, l.disk, name, l.opts.SegmentSize, l.opts.LockWait)
			delete(r.retry, name)
			if err != nil {
				r.retry[name] = size + l.opts.SegmentSize/rotation.TailShare
			}
			if err != nil && r.ctx.Err() == nil {
				l.opts.Logger.Warn().Err(err).Str("segment", name).
					Msg("the ledger could not be rotated into the archive; nothing is lost, and it is tried again later")
			}
		})
	}
}

// Rotate moves the lines of each file that is longer than Options.SegmentSize into archives, and returns when it is
// done. Appends do so by themselves, in the background; this is for who wants to wait for it.
func (l *Ledger) Rotate(ctx context.Context) error {
	_ = l.Flush(ctx)
	at, err := l.here()
	if err != nil {
		return fmt.Errorf("rotate the ledger: %w", err)
	}
	names, err := segment.SegmentNames(at.root)
	if err != nil {
		return fmt.Errorf("rotate the ledger: %w", err)
	}
	places, _ := segment.Look(at.root, names)
	var failed []error
	for _, place := range places {
		if l.opts.SegmentSize > 0 && place.Info.Size() > l.opts.SegmentSize {
			failed = append(failed, rotation.File(ctx, at.root, l.disk, path.Join(segment.Home, place.Name), l.opts.SegmentSize, l.opts.LockWait))
		}
	}
	return errors.Join(failed...)
}
