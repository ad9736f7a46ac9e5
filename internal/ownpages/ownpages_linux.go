package ownpages

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// GiveBack unmaps the pages of the program's file of which this process has no changed copy. Others go on meanwhile.
func GiveBack() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, m := range untouched(bufio.NewScanner(maps), program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// untouched are the mappings of a file that cannot be written and hold no page of their own. Discarding one that does, as
// where the linker has put addresses in before it took the right to write away, would bring the file's bytes back.
func untouched(smaps *bufio.Scanner, file string) (found []mapping) {
	var at mapping
	mine := false
	for smaps.Scan() {
		line := smaps.Text()
		if from, to, rest, ok := header(line); ok {
			// FROM-TO PERMISSIONS OFFSET DEVICE INODE NAME
			fields := strings.Fields(rest)
			at, mine = mapping{from, to}, len(fields) >= 5 && strings.HasPrefix(fields[0], "r") &&
				strings.HasSuffix(fields[0], "p") && !strings.Contains(fields[0], "w") && strings.HasSuffix(line, " "+file)
			continue
		}
		if mine && strings.HasPrefix(line, "Anonymous:") {
			if fields := strings.Fields(line); len(fields) == 3 && fields[1] == "0" {
				found = append(found, at)
			}
			mine = false
		}
	}
	return found
}

// header reads the first line of a mapping; the others begin with a name and a colon.
func header(line string) (from, to uintptr, rest string, ok bool) {
	addresses, rest, ok := strings.Cut(line, " ")
	first, last, found := strings.Cut(addresses, "-")
	if !ok || !found {
		return 0, 0, "", false
	}
	a, errFrom := strconv.ParseUint(first, 16, strconv.IntSize)
	b, errTo := strconv.ParseUint(last, 16, strconv.IntSize)
	return uintptr(a), uintptr(b), rest, errFrom == nil && errTo == nil && a < b
}
