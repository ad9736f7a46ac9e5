package helper

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/supervisor"
)

// surrender gives up, on this thread and for what it starts, every right that the command must not have. It returns the
// descriptor that a supervisor of the filter is asked by, where there is one.
func surrender(plan *Plan) (listener int) {
	for capability := uintptr(0); ; capability++ {
		errno := prctl(prCapbsetDrop, capability, 0)
		if errno == syscall.EINVAL && capability > 0 {
			break // the kernel knows no more
		}
		must(errno, "drop a capability")
	}
	must(prctl(prSetSecurebits, securebitsLocked, 0), "lock the secure bits")
	must(prctl(prCapAmbient, ambientClearAll, 0), "clear the ambient capabilities")
	must(kernel.SetRights(0), "drop the capabilities")
	must(prctl(prSetNoNewPrivs, 1, 0), "no_new_privs")
	landlock(&plan.Landlock)
	if plan.Supervised == 0 {
		_, errno := filterCalls(plan.Filter, 0)
		must(errno, "seccomp")
		return -1
	}
	// What waits for an answer is not to be woken by a signal: it would ask twice.
	listener, errno := filterCalls(plan.Filter, newListener|waitKillable)
	if errno == syscall.EINVAL {
		listener, errno = filterCalls(plan.Filter, newListener) // before Linux 5.19
	}
	must(errno, "seccomp: supervise")
	return listener
}

func filterCalls(program []byte, flags uintptr) (listener int, errno syscall.Errno) {
	filter := struct {
		length  uint16
		program *byte
	}{uint16(len(program) / 8), &program[0]}
	fd, _, errno := syscall.RawSyscall(kernel.SysSeccomp, setFilter, flags, uintptr(unsafe.Pointer(&filter)))
	return int(fd), errno
}

// landlock allows writing where the view allows it, once more, and reading where the plan does.
func landlock(rules *Landlock) {
	attributes := struct{ files, network, scoped uint64 }{files: rules.Tree | rules.Read, scoped: rules.Scoped}
	size := unsafe.Sizeof(attributes)
	if rules.Scoped == 0 {
		size = 8 // what the first version knows
	}
	set, _, errno := syscall.RawSyscall(sysLandlockCreate, uintptr(unsafe.Pointer(&attributes)), size, 0)
	must(errno, "Landlock")
	for _, path := range rules.Allowed {
		must(allow(int(set), path, rules), "Landlock: allow", path)
	}
	for _, path := range rules.Readable {
		fd, errno := open(path, syscall.O_NOFOLLOW)
		if errno == 0 { // else it is not there any more, or cannot be had
			must(addRule(int(set), fd, rules.Read), "Landlock: allow reading", path)
			syscall.Close(fd)
		}
	}
	_, _, errno = syscall.RawSyscall(sysLandlockSelf, set, 0, 0)
	must(errno, "Landlock: restrict")
	syscall.Close(int(set))
}

func allow(set int, path string, rules *Landlock) syscall.Errno {
	fd, errno := open(path, 0)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(fd)
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return err.(syscall.Errno)
	}
	rights := rules.File
	if info.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		rights = rules.Tree
	}
	return addRule(set, fd, rights)
}

func addRule(set, fd int, rights uint64) syscall.Errno {
	// struct landlock_path_beneath_attr is packed: eight bytes and four.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule)) = rights
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	_, _, errno := syscall.RawSyscall6(sysLandlockAddRule, uintptr(set), landlockBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return errno
}

// ignoreSignals keeps the helper alive when its process group is asked to end: it has to see how the command ends. It
// ignores those for which Go's runtime has a handler, because these the runtime gives back to the kernel in what it
// starts; the others do nothing to process 1.
func ignoreSignals() {
	const ignore = 1
	for signal := uintptr(1); signal <= 64; signal++ {
		switch syscall.Signal(signal) {
		case syscall.SIGCHLD, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL:
			continue
		}
		var now action
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, signal, 0, uintptr(unsafe.Pointer(&now)), 8, 0, 0)
		if now.handler > ignore {
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(&action{handler: ignore})), 0, 8, 0, 0)
		}
	}
}

// action is the kernel's struct sigaction, as long as the longest of them.
type action struct {
	handler, flags, restorer uintptr
	mask, spare              uint64
}

// try is a command that finds out whether it is held: neither /proc nor a
// tracer may be had. It stands in a directory that it can write.
func try() int {
	if fd, err := syscall.Open("/proc/self/comm", syscall.O_WRONLY|syscall.O_CLOEXEC, 0); err != syscall.EROFS {
		syscall.Close(fd)
		return NotHeld
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, 0, 0, 0, 0, 0, 0); errno != syscall.EPERM {
		return NotHeld
	}
	if connectSelf() != nil {
		return Unconnected
	}
	return Held
}

// connectSelf connects to a listener of its own.
func connectSelf() error {
	var ends [2]int
	for i := range ends {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		ends[i] = fd
	}
	name := &syscall.SockaddrUnix{Name: "own"}
	err := syscall.Bind(ends[0], name)
	if err == nil {
		err = syscall.Listen(ends[0], 1)
	}
	if err == nil {
		err = syscall.Connect(ends[1], name)
	}
	return err
}

// supervise starts the thread that connects sockets for the command and tells of links, with the rights of before the surrender and
// without its filter, and returns when that waits for the listener. Others come of it, or of a thread that the runtime
// started before the surrender, too: run is locked to its own.
func supervise(started <-chan struct{}) chan<- int {
	listener := make(chan int)
	ready := make(chan struct{})
	go onOneThread(func() {
		close(ready)
		s := supervisor.New(<-listener, func() bool {
			<-started // which is said first
			return say(Linked, 0, "")
		})
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
	must(kernel.SetRights(1<<kernel.Ptrace), "drop rights of the supervisor")
	f()
}
