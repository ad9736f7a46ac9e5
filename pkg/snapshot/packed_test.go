package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// FuzzPacked: what is packed is read as it was, and packed again after any part of it that is taken over is the same.
func FuzzPacked(f *testing.F) {
	for i := range 20 {
		f.Add(fmt.Appendf(nil, "seed %d of entries, \x00\xff\x80 and so on: %0*d", i, 10*i, i))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check.OK(t, snapshot.PackAndRead(data)) })
}

// TestPackedSize: a file of a usual tree takes at most 90 bytes, with its name, which leaves room for its directory.
func TestPackedSize(t *testing.T) {
	size := snapshot.PackedSize(25)
	check.That(t, size <= 90*25, "25 files take %d bytes", size)
}
