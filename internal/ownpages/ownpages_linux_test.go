package ownpages_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/ownpages"
)

const smaps = `00400000-00402000 r--p 00000000 fe:00 10003169                           /usr/bin/the program
Size:                  8 kB
Anonymous:             0 kB
00402000-01633000 r-xp 00002000 fe:00 10003169                           /usr/bin/the program
Anonymous:             0 kB
01633000-02b29000 r--p 01233000 fe:00 10003169                           /usr/bin/the program
Anonymous:             4 kB
02b2a000-02c4e000 rw-p 02729000 fe:00 10003169                           /usr/bin/the program
Anonymous:             0 kB
02c4f000-02c50000 r--s 02729000 fe:00 10003169                           /usr/bin/the program
Anonymous:             0 kB
02d00000-02d01000 ---p 00000000 fe:00 10003169                           /usr/bin/the program
Anonymous:             0 kB
02e00000-02e01000 r--p 00000000 fe:00 10003170                           /usr/bin/not the program
Anonymous:             0 kB
02f00000-02f01000 r--p 00000000 00:00 0
Anonymous:             0 kB
7ffc312f9000-7ffc3131a000 rw-p 00000000 00:00 0                          [stack]
Anonymous:            20 kB
`

// TestUntouched: only what is of the program, cannot be written and has never been is given back.
func TestUntouched(t *testing.T) {
	got := ownpages.Untouched(smaps, "/usr/bin/the program")
	check.That(t, slices.Equal(got, [][2]uintptr{{0x400000, 0x402000}, {0x402000, 0x1633000}}), "%x", got)
}

// TestGiveBack: the program goes on, with less of its file in memory than before.
func TestGiveBack(t *testing.T) {
	before := fileBacked(t)
	ownpages.GiveBack()
	after := fileBacked(t)
	check.That(t, after < before, "%d kB before, %d kB after", before, after)
}

// fileBacked is how much of files is in this process's memory, in kB. A file in a tmpfs counts as shared.
func fileBacked(t *testing.T) (held int) {
	t.Helper()
	for line := range strings.Lines(string(check.Value(os.ReadFile("/proc/self/status"))(t))) {
		var kB int
		for _, kind := range []string{"RssFile", "RssShmem"} {
			if _, err := fmt.Sscanf(line, kind+": %d kB", &kB); err == nil {
				held += kB
			}
		}
	}
	check.Must(t, held > 0, "this kernel does not say what of memory is of files")
	return held
}
