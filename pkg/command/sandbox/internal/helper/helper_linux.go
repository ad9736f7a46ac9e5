package helper

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// conversation is the descriptor of the conversation with the server.
const conversation = 3

func init() {
	mode, ok := syscall.Getenv(Variable)
	switch {
	case !ok:
	case mode == Try:
		syscall.Exit(try())
	case mode == Run:
		run()
	}
}

// run is the life of a helper. It is on the process's main thread: an init function is.
func run() {
	runtime.LockOSThread() // other threads do not come of what this one gives up
	syscall.CloseOnExec(conversation)
	_, _, errno := syscall.RawSyscall(sysCloseRange, conversation+1, 1<<32-1, 0)
	must(errno, "close what was inherited")
	prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	var plan Plan
	if !plan.Decode(hear()) {
		syscall.Exit(1) // the server is gone
	}
	must(prctl(prSetDumpable, 0, 0), "hide the helper")
	if plan.MaxPID != 0 {
		limitPIDs(plan.MaxPID)
	}
	arrange(&plan)
	if plan.Loopback != 0 {
		raiseLoopback()
	}
	must(enter(&plan), "enter the directory", plan.Dir)
	keepMasks(&plan)
	started := make(chan struct{})
	if plan.Supervised == 0 {
		surrender(&plan)
	} else {
		listener := supervise(started)
		listener <- surrender(&plan)
	}
	command := start(&plan)
	close(started)
	syscall.Exit(watch(command))
}

// hear reads the plan.
func hear() []byte {
	var length [4]byte
	if !whole(syscall.Read, length[:]) {
		return nil
	}
	plan := make([]byte, uint32(length[0])|uint32(length[1])<<8|uint32(length[2])<<16|uint32(length[3])<<24)
	if !whole(syscall.Read, plan) {
		return nil
	}
	return plan
}

// say reports whether the message was sent.
func say(kind byte, number uint32, text string) bool {
	message := []byte{kind, byte(number), byte(number >> 8), byte(number >> 16), byte(number >> 24)}
	if kind == Failed {
		text = text[:min(len(text), 255)]
		message = append(append(message, byte(len(text))), text...)
	}
	return whole(syscall.Write, message)
}

// whole reads or writes all of some bytes of the conversation.
func whole(call func(fd int, data []byte) (int, error), data []byte) bool {
	for len(data) > 0 {
		n, err := call(conversation, data)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		data = data[n:]
	}
	return true
}

// must ends the helper, with nothing started, where a step failed; it says which, and with what.
func must(errno syscall.Errno, step string, with ...string) {
	if errno == 0 {
		return
	}
	for _, path := range with {
		step += " " + path
	}
	say(Failed, uint32(errno), step)
	syscall.Exit(1)
}

// check is must for what package syscall says.
func check(err error, step string, with ...string) {
	if err != nil {
		must(err.(syscall.Errno), step, with...)
	}
}

// limitPIDs sets the greatest process id of this namespace, while /proc can
// still be written. That it cannot is no fault: the server counts as well.
func limitPIDs(greatest uint32) {
	fd, err := syscall.Open("/proc/sys/kernel/pid_max", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = syscall.Write(fd, []byte(kernel.Decimal(uint64(greatest))))
	syscall.Close(fd)
}

// enter makes the directory the working one: by its path in the new view, for a descriptor from outside would lead out.
func enter(plan *Plan) syscall.Errno {
	fd, errno := open(plan.Dir, syscall.O_DIRECTORY)
	if errno != 0 {
		return errno
	}
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return err.(syscall.Errno)
	}
	if len(plan.Layers) == 0 && (info.Dev != plan.Device || info.Ino != plan.Inode) {
		return syscall.ESTALE
	}
	if err := syscall.Fchdir(fd); err != nil {
		return err.(syscall.Errno)
	}
	syscall.Close(fd)
	return 0
}

// start starts the command with what this thread has given up.
func start(plan *Plan) int {
	ignoreSignals()
	pid, err := syscall.ForkExec(plan.Path, plan.Args, &syscall.ProcAttr{Env: plan.Env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		errno, ok := err.(syscall.Errno)
		if !ok {
			errno = syscall.EINVAL
		}
		must(errno, "start", plan.Path)
	}
	say(Started, uint32(pid), "")
	for fd := range 3 {
		syscall.Close(fd) // the end of the output is the end of those who write it
	}
	return pid
}

// watch waits for the command, then for what it left, and returns the exit status. It is process 1 here: all orphans
// are its children. How long it may wait for them is the server's to say.
func watch(command int) (code int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return code // no process is left
		case pid == command:
			say(Ended, uint32(status), "")
			if code = status.ExitStatus(); status.Signaled() {
				code = 128 + int(status.Signal())
			}
		}
	}
}

const (
	pollPriority = 0x2 // POLLPRI
	// A path that is absent is looked for again after soon at first, and after
	// late in the end: the mounts change before the new file has its name.
	soon = 20_000     // nanoseconds
	late = 50_000_000 // nanoseconds
)

// keepMasks puts masks back for as long as the command runs. The kernel takes a mount away when somebody outside of the
// namespace replaces or removes what it lies on, which an editor or git does to save a file. Until a mask is back, for
// a moment, the new file can be written.
//
// It has a thread of its own, with the rights of before the surrender, and returns when that waits.
func keepMasks(plan *Plan) {
	var masks, others []Mask // those that hide come first
	for _, mask := range plan.Masks {
		switch mask.Kind {
		case Writable: // what replaces it is read-only
		case Hidden, Emptied:
			masks = append(masks, mask)
		case Content:
			mask.Kind = Frozen // the new content is the operator's
			fallthrough
		default:
			others = append(others, mask)
		}
	}
	masks = append(masks, others...)
	if len(masks) == 0 {
		return
	}
	table, err := syscall.Open("/proc/self/mountinfo", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	check(err, "watch the mounts")
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(ready)
		for pause := int64(0); ; {
			if awaitMounts(table, pause) {
				pause = 0
			}
			next := int64(0)
			for _, mask := range masks {
				if !restored(mask) {
					next = min(max(2*pause, soon), late)
				}
			}
			pause = next
		}
	}()
	<-ready
}

// awaitMounts returns when the mounts have changed, which it reports, or after a while in nanoseconds; 0 is any.
func awaitMounts(table int, pause int64) (changed bool) {
	watched := struct {
		fd              int32
		wanted, happens int16
	}{fd: int32(table), wanted: pollPriority}
	var timeout *syscall.Timespec
	if pause > 0 {
		timeout = &syscall.Timespec{Nsec: pause}
	}
	ready, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&watched)), 1, uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
	return ready == 1
}

// restored puts a mask on what is there now, unless it is there, the root of a mount; false if nothing is. Where it cannot,
// the command ends with the helper.
func restored(mask Mask) bool {
	info, errno := kernel.Statx(kernel.AtCwd, mask.Path, kernel.AtNoFollow, 0)
	if errno == 0 && info.Attributes&kernel.MountRoot != 0 {
		return true
	}
	step, errno := lay(mask, nil)
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP: // a link leads nowhere that could be written
		return false
	}
	must(errno, step, mask.Path)
	return true
}
