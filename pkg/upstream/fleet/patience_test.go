package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// over is how long a call with a timeout of a minute is waited for, if meanwhile something goes on.
func over(t *testing.T, goesOn func(h mcpclient.Handlers, ctx context.Context)) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := mcpclient.Handlers{Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(24 * time.Hour)
			return nil, nil
		}}
		ctx, end := fleet.Patience(time.Minute, &h)
		goesOn(h, ctx)
		<-ctx.Done()
		took = time.Since(began)
		check.That(t, errors.Is(context.Cause(ctx), fleet.ErrTimeout), "%v", context.Cause(ctx))
		end()
		h.Progress("late", 1, 2) // does nothing any more
	})
	return took
}

func TestPatience(t *testing.T) {
	check.Equal(t, over(t, func(mcpclient.Handlers, context.Context) {}), time.Minute)
	check.Equal(t, over(t, func(h mcpclient.Handlers, _ context.Context) {
		time.Sleep(50 * time.Second)
		h.Progress("", 1, 0)
	}), 110*time.Second)
	check.Equal(t, over(t, func(h mcpclient.Handlers, ctx context.Context) {
		for ctx.Err() == nil {
			select {
			case <-time.After(50 * time.Second):
				h.Progress("", 1, 0)
			case <-ctx.Done():
			}
		}
	}), fleet.MaxCall)
	check.Equal(t, over(t, func(h mcpclient.Handlers, ctx context.Context) {
		time.Sleep(50 * time.Second)
		_, _ = h.Ask(ctx, "", nil)
	}), 24*time.Hour+110*time.Second)
}
