package console

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processesOf finds the processes that hold the socket at one end of a connection on this machine, by proc(5). Those that
// hide what they have open are not found.
func processesOf(at, to netip.AddrPort) (pids []int) {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil
	}
	more, _ := os.ReadFile("/proc/net/tcp6") // a system without IPv6 has none
	link := socketOf(slices.Concat(table, more), at, to)
	if link == "" {
		return nil
	}
	found, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, name := range found {
		if target, err := os.Readlink(name); err == nil && target == link {
			pid, err := strconv.Atoi(strings.Split(name, "/")[2])
			if err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// socketOf is the link by which a process has a socket open, by the table of connections; "" if it is not there.
func socketOf(table []byte, at, to netip.AddrPort) string {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) > 9 && isAddress(fields[1], at) && isAddress(fields[2], to) {
			return "socket:[" + fields[9] + "]"
		}
	}
	return ""
}

// isAddress compares an address with its form in the table: 32-bit words in the machine's byte order, then the port. Linux
// runs this program on little-endian machines.
func isAddress(text string, a netip.AddrPort) bool {
	host, port, _ := strings.Cut(text, ":")
	if port != fmt.Sprintf("%04X", a.Port()) {
		return false
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	listed, ok := netip.AddrFromSlice(raw)
	return ok && listed.Unmap() == a.Addr().Unmap()
}
