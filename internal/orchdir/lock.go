package orchdir

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// lock takes the exclusive lock of the directory; where ctx's time is over before, that is ErrBusy. Without locks, rewrites still
// compare and exchange, and only their order is left to chance. The caller has to check that the directory still stands under its
// name: whoever held the lock may have replaced it.
func lock(ctx context.Context, dir *os.File) error {
	err := durable.Lock(ctx, dir)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrBusy
	}
	return err
}

// sleep waits, and returns ErrBusy where the wait ends with ctx's time, ctx's error where it was cancelled.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return ErrBusy
	}
}
