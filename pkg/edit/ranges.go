package edit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Range is a run of lines with the hash that recognises it wherever it moves.
type Range struct {
	StartLine   int    // 1-based
	EndLine     int    // inclusive
	ContentHash string // HashLines of its lines
}

// ChangedRanges gives the lines of after that hunks added or changed. Hunks that only delete have none.
func ChangedRanges(after string, hunks [][4]int) []Range {
	lines := Lines(after)
	ranges := []Range{}
	for _, h := range hunks {
		if h[3] > 0 {
			ranges = append(ranges, Range{h[2], h[2] + h[3] - 1, HashLines(lines[h[2]-1 : h[2]-1+h[3]])})
		}
	}
	return ranges
}

// HashLines is "sha256:" and the hexadecimal SHA-256 of the lines, without their terminators, joined by LF, without a
// final newline: the same for a block with LF and with CRLF endings.
func HashLines(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
