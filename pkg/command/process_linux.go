package command

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
)

func newFamily(adopt bool) (*family, error) {
	if adopt {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("adopt orphaned processes: %w", err)
		}
	}
	return &family{adopt: adopt, live: map[int]*process{}, limits: limits{place: sync.OnceValues(cgroup.Find)}}, nil
}

// processAttributes: with the session come the missing terminal and a process group; the signal is for the case that
// the server is killed and can end nothing any more.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// startDirectory names the directory by its descriptor: the child resolves it in its own copy of the table, so what it
// enters is what the caller has open, whatever its path leads to by now.
func startDirectory(dir *os.File) (string, error) {
	info, err := dir.Stat()
	if err != nil {
		return "", err
	}
	if raw, ok := info.Sys().(*syscall.Stat_t); ok && raw.Nlink == 0 {
		return "", fmt.Errorf("%w: %s was deleted", ErrInvalidSpec, dir.Name()) // starting there fails as if the shell were missing
	}
	connection, err := dir.SyscallConn()
	if err != nil {
		return "", err
	}
	var path string
	err = connection.Control(func(fd uintptr) {
		path = "/proc/self/fd/" + strconv.FormatUint(uint64(fd), 10)
	})
	if _, missing := os.Stat(path); err == nil && missing != nil {
		// Nor could what a command leaves running be found.
		return "", fmt.Errorf("%w: it takes a /proc with the processes of this machine: %w", ErrUnsupported, missing)
	}
	return path, err
}

// waitUnreaped returns when the shell has ended but leaves it a zombie: as long as it is one, neither its process id
// nor its session can be given to somebody else, and the tree can be looked for by them.
func (p *process) waitUnreaped() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// closeInherited keeps from the command what the server was started with: its client may leak sockets and files.
func closeInherited() {
	if unix.CloseRange(firstInherited, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		closeInheritedOneByOne() // a kernel before 5.11
	}
}
