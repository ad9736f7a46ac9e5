package sandbox

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// broker answers for the signals that a command's processes send, where the kernel cannot tell this process from others
// (seccomp_unotify(2)). What it allows it sends itself: between an answer and the kernel's own look a process id could
// become one of this process's threads.
type broker struct {
	listener int
	thread   atomic.Int64 // that it waits on
	leaving  atomic.Bool
	gone     chan struct{}
}

func newBroker(listener int) *broker {
	b := &broker{listener: listener, gone: make(chan struct{})}
	go b.watch()
	return b
}

// dismiss ends it. Signals of what is left of the command fail from then on.
func (b *broker) dismiss() {
	if b == nil {
		return
	}
	b.leaving.Store(true)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if thread := b.thread.Load(); thread != 0 {
			_ = unix.Tgkill(os.Getpid(), int(thread), unix.SIGURG) // which only breaks off what it waits for
		}
		select {
		case <-b.gone:
			return
		case <-time.After(pause):
		}
	}
}

func (b *broker) watch() {
	defer close(b.gone)
	defer unix.Close(b.listener)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.thread.Store(int64(unix.Gettid()))
	for !b.leaving.Load() {
		ready := []unix.PollFd{{Fd: int32(b.listener), Events: unix.POLLIN}}
		_, err := unix.Poll(ready, -1)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || ready[0].Revents&unix.POLLIN == 0:
			return // nobody is left who could ask
		}
		b.answer()
	}
}

// answer hears one question and answers it. One whose process has died meanwhile needs no answer.
func (b *broker) answer() {
	q, errno := kernel.Receive(b.listener)
	if errno != 0 {
		return
	}
	switch err := judge(&q); {
	case err == nil:
		q.Fail(b.listener, 0)
	case errors.Is(err, errKernels):
		q.Continue(b.listener)
	default:
		errno, is := errors.AsType[unix.Errno](err)
		if !is {
			errno = unix.EPERM
		}
		q.Fail(b.listener, errno)
	}
}

// errKernels: the kernel may go on, for it keeps this process from the sender anyway.
var errKernels = errors.New("the kernel decides")

// judge sends the signal that a process wants to send, or says why not.
func judge(q *kernel.Question) error {
	sender, err := readSender(int(q.PID))
	if err != nil {
		return unix.EPERM
	}
	if sender.elsewhere || !sender.may {
		return errKernels
	}
	to, signal := int(int32(q.Arguments[0])), unix.Signal(int32(q.Arguments[1]))
	if to != os.Getpid() && (to == int(q.PID) || q.Number == unix.SYS_KILL && to == sender.process) {
		return errKernels // itself, which stands still under this id until it is answered
	}
	if q.Number == unix.SYS_TKILL {
		// To a thread of the sender's own process, as libraries do.
		if sender.process == os.Getpid() {
			return unix.EPERM
		}
		return unix.Tgkill(sender.process, to, signal)
	}
	if to <= 0 || to == os.Getpid() {
		return unix.EPERM // the filter lets neither come here
	}
	// Only a process can be opened, by its first thread's id, which is not ours.
	fd, err := unix.PidfdOpen(to, 0)
	if err != nil {
		return unix.ESRCH
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

// sender is who asks, which stands still until it is answered.
type sender struct {
	process   int
	elsewhere bool // in a process namespace of its own: its ids are not ours, and this process has none there
	may       bool // signal a process of this user: by its own user, real or effective (kill(2)), or by its rights
}

// readSender reads /proc/PID/status (proc_pid_status(5)).
func readSender(thread int) (s sender, err error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/status")
	if err != nil {
		return s, err
	}
	status := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.Fields(value)
	}
	process, users, effective := status["Tgid"], status["Uid"], status["CapEff"]
	if len(process) != 1 || len(users) < 2 || len(effective) != 1 {
		return s, errors.New("no status of a process")
	}
	s.process, err = strconv.Atoi(process[0])
	rights, wrong := strconv.ParseUint(effective[0], 16, 64)
	s.elsewhere = len(status["NSpid"]) > 1
	s.may = rights&(1<<unix.CAP_KILL) != 0 || slices.Contains(users[:2], strconv.Itoa(os.Geteuid()))
	return s, errors.Join(err, wrong)
}
