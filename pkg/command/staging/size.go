package staging

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Bounded calls full, once, when the layers have more than so many bytes, and returns when ctx is done. It looks at the file
// system first, which is one call, and at the layers only where that has got as much fuller.
func (l *Layers) Bounded(ctx context.Context, most int64, full func()) {
	begun := durable.UsedBytes(l.at)
	look := time.NewTicker(time.Second / 4)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if durable.UsedBytes(l.at)-begun <= most || l.size(most) <= most {
			continue
		}
		full()
		return
	}
}

// size is how many bytes the files have together; it stops counting at what is more than most.
func (l *Layers) size(most int64) (sum int64) {
	_ = filepath.WalkDir(l.at, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += durable.StoredBytes(info)
			}
		}
		if sum > most {
			return fs.SkipAll
		}
		return nil
	})
	return sum
}
