package console

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// processesOf finds the processes that hold the socket at one end of a connection on this machine, by proc(5): those that
// have it open, else those that hide what they have open, as any of them may be it. None is found where the other end is
// another user's or no socket of this machine. An error says that nobody can have it: it was closed, or is kept where it
// cannot be seen, as between two processes.
func processesOf(at, to netip.AddrPort) ([]int, error) {
	far, err := socketOf(at, to)
	if err != nil {
		return nil, err
	}
	for _, open := range []string{"/proc/[0-9]*/fd/*", "/proc/[0-9]*/task/[0-9]*/fd/*"} { // threads can have files of their own
		if pids := holding(open, far.link()); len(pids) > 0 {
			return pids, nil
		}
	}
	// What was closed during the look was not found for that.
	near, err := socketOf(to, at)
	switch {
	case err != nil:
		return nil, err
	case near.state != established:
		return nil, errors.New("the connection was closed at its other end")
	case far.user != strconv.Itoa(os.Getuid()):
		return nil, nil
	}
	pids := hiding(far.user)
	if len(pids) == 0 {
		return nil, errors.New("no process has the connection's other end open")
	}
	return pids, nil
}

// holding are the processes that have a link among their open files.
func holding(open, link string) (pids []int) {
	found, _ := filepath.Glob(open)
	for _, name := range found {
		if target, err := os.Readlink(name); err == nil && target == link {
			pids = append(pids, processOf(name))
		}
	}
	return pids
}

// hiding are the processes of a user that do not let us see what they have open.
func hiding(user string) (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, name := range found {
		_, err := durable.ReadDirectory(name)
		status, _ := durable.ReadRegular(filepath.Join(filepath.Dir(name), "status"), 64<<10)
		if errors.Is(err, fs.ErrPermission) && bytes.Contains(status, []byte("\nUid:\t"+user+"\t")) {
			pids = append(pids, processOf(name))
		}
	}
	return pids
}

// processOf is the process whose file below /proc it is.
func processOf(name string) int {
	pid, _ := strconv.Atoi(strings.Split(name, "/")[2]) // the pattern asked for digits
	return pid
}

// socket is a line of the table of connections; the zero one is of a connection that is not there.
type socket struct{ state, user, inode string }

// established is the state of a connection that no end has closed.
const established = "01"

// link is what a process that has the socket open has for it; nobody has that of one that is closed.
func (s socket) link() string { return "socket:[" + s.inode + "]" }

// socketOf finds a socket of this machine by its own address and that of the other end.
func socketOf(at, to netip.AddrPort) (socket, error) {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return socket{}, err
	}
	more, err := os.ReadFile("/proc/net/tcp6")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a machine without IPv6 has none
		return socket{}, err
	}
	return listed(slices.Concat(table, more), at, to), nil
}

// listed is a socket's line in a table.
func listed(table []byte, at, to netip.AddrPort) socket {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) > 9 && isAddress(fields[1], at) && isAddress(fields[2], to) {
			return socket{state: fields[3], user: fields[7], inode: fields[9]}
		}
	}
	return socket{}
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
