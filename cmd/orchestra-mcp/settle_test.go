package main

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A server that has started holds little garbage, unless its environment says how much.
func TestSettle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Setenv("GOGC", "100")
	settle()
	check.Equal(t, garbage(), 100)
	t.Setenv("GOGC", "")
	settle()
	check.Equal(t, garbage(), idleGC)
}

// garbage is how much of it a collection waits for, in percent of what is in use.
func garbage() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
