package sandbox

import (
	"fmt"
	"math"
	"sync"

	"golang.org/x/sys/unix"
)

// reservedPIDs are what the kernel leaves out once it has gone through all process ids (RESERVED_PIDS of kernel/pid.c).
const reservedPIDs = 300

// maxPID is the greatest process id of a namespace that has room for that many tasks; 0 where each namespace has not
// its own. To write it there would change that of the machine.
func maxPID(tasks int) uint32 {
	if tasks <= 0 || tasks > math.MaxInt32-reservedPIDs || !ownPIDMax() {
		return 0
	}
	return uint32(tasks + reservedPIDs)
}

// ownPIDMax reports whether kernel.pid_max belongs to the process namespace, as it does from Linux 6.14 on.
var ownPIDMax = sync.OnceValue(func() bool {
	var name unix.Utsname
	var major, minor int
	if unix.Uname(&name) != nil {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
})

// LimitTasks lets an ordinary user's process, and what comes of it, make no more processes and threads when the user has that many more
// than the machine has now (RLIMIT_NPROC). From Linux 5.14 on those of a user namespace count apart. Root's may make as many as before.
func LimitTasks(pid, more int) {
	done := make(chan struct{})
	go func() { // the thread that started it is held like the command, and may set no limits of others
		defer close(done)
		var now unix.Rlimit
		limit, ok := tasksAnd(more)
		if !ok || unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &now) != nil {
			return
		}
		_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(now.Cur, limit), Max: min(now.Max, limit)}, nil)
	}()
	<-done
}

// LimitStarted is LimitTasks for what this process starts until it is taken back, which a process could undo for
// itself: between its start and LimitTasks it has that at least.
func LimitStarted(more int) (back func()) {
	var now unix.Rlimit
	limit, ok := tasksAnd(more)
	if !ok || unix.Prlimit(0, unix.RLIMIT_NPROC, nil, &now) != nil || now.Cur <= limit {
		return func() {}
	}
	if unix.Prlimit(0, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: now.Max}, nil) != nil {
		return func() {}
	}
	return func() { _ = unix.Prlimit(0, unix.RLIMIT_NPROC, &now, nil) }
}

// tasksAnd is how many tasks the machine has, which is at least as many as a user has, and some more.
func tasksAnd(more int) (uint64, bool) {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0, false
	}
	return uint64(info.Procs) + uint64(more), true
}
