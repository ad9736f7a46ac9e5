package durable

import (
	"context"
	"errors"
	"os"
	"time"
)

// Lock takes the lock of TryLock, with growing pauses until ctx ends, and then returns the cause of that. Where the system has no such
// locks it takes none, and that is no error.
func Lock(ctx context.Context, f *os.File) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		got, err := TryLock(f)
		if got || errors.Is(err, ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
