package helper

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/supervisor"
)

// capPtrace is CAP_SYS_PTRACE.
const capPtrace = 19

// supervise starts the thread that connects sockets for the command, with the
// rights of before the surrender and without its filter, and returns when that waits
// for the listener. Others come of it, or of a thread that the runtime started before
// the surrender, too: run is locked to its own.
func supervise() chan<- int {
	listener := make(chan int)
	ready := make(chan struct{})
	go onOneThread(func() {
		close(ready)
		s := supervisor.New(<-listener)
		var serve func()
		serve = func() { s.Serve(func() { go onOneThread(serve) }) }
		serve()
	})
	<-ready
	return listener
}

// onOneThread runs f on a thread that ends with it, and has no right but to take
// sockets of other processes: what f opens and connects is what the command may.
func onOneThread(f func()) {
	runtime.LockOSThread()
	must(keepOnly(capPtrace), "drop rights of the supervisor", "")
	f()
}

// keepOnly drops all rights of this thread but one.
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
