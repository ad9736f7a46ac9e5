package orchdir

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// lock takes the exclusive lock of the directory, with growing pauses until ctx ends, then returns ErrBusy. The caller
// has to check that the directory still stands under its name: whoever held the lock may have replaced it.
func lock(ctx context.Context, dir *os.File) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		switch ok, err := durable.TryLock(dir); {
		case ok:
			return nil
		case errors.Is(err, durable.ErrUnsupported):
			// Rewrites still compare and exchange; only their order is left to chance.
			return nil
		case err != nil:
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
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
