package ownpages

import (
	"bufio"
	"strings"
)

// Untouched gives the mappings that GiveBack would unmap, of a text in the place of /proc/self/smaps.
func Untouched(smaps, file string) (found [][2]uintptr) {
	for _, m := range untouched(bufio.NewScanner(strings.NewReader(smaps)), file) {
		found = append(found, [2]uintptr{m.from, m.to})
	}
	return found
}
