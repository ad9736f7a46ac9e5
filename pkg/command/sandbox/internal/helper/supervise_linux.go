package helper

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/supervisor"
)

// capPtrace is CAP_SYS_PTRACE.
const capPtrace = 19

// supervise starts the thread that connects sockets for the command, with the
// rights of before the surrender and without its filter, and returns when that waits
// for the listener.
func supervise() chan<- int {
	listener := make(chan int)
	ready := make(chan struct{})
	go func() {
		// Later ones come of this one's thread, or of the runtime's own, which was
		// started before the surrender, too: run is locked to its thread.
		runtime.LockOSThread()
		must(keepOnly(capPtrace), "keep the rights of the supervisor", "")
		close(ready)
		serve(supervisor.New(<-listener))
	}()
	<-ready
	return listener
}

// serve is the life of one thread. What waits for an answer from afar has another
// one take its place, and ends with it.
func serve(s *supervisor.Supervisor) {
	for s.Next(func() {
		go func() {
			runtime.LockOSThread()
			must(keepOnly(capPtrace), "keep the rights of the supervisor", "")
			serve(s)
		}()
	}) {
	}
}

// keepOnly drops all rights of this thread but one: what it opens and connects is
// what the command may. The one is to take sockets of other processes.
func keepOnly(capability uint) syscall.Errno {
	header := struct {
		version uint32
		pid     int32
	}{version: capabilities}
	type rights struct{ effective, permitted, inheritable uint32 }
	kept := [2]rights{{effective: 1 << capability, permitted: 1 << capability}}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&kept)), 0)
	return errno
}
