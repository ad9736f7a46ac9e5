package helper

import (
	"runtime"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/supervisor"
)

// supervise starts the thread that connects sockets for the command, with the rights of before the surrender and
// without its filter, and returns when that waits for the listener. Others come of it, or of a thread that the runtime
// started before the surrender, too: run is locked to its own.
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
	must(kernel.SetRights(1<<kernel.Ptrace), "drop rights of the supervisor", "")
	f()
}
