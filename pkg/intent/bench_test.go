package intent_test

import (
	"testing"
	"time"
)

// BenchmarkLoadUnchanged is what every governed call pays.
func BenchmarkLoadUnchanged(b *testing.B) {
	w := newWorkspace(b, sample)
	later := time.Now().Add(time.Hour)
	w.store.SetClock(func() time.Time { return later })
	for b.Loop() {
		w.load()
	}
}
