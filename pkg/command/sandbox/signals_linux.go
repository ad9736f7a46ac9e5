package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// A signal reaches a process by the id of any of its threads. The thread that starts a command has the command's domain of Landlock, so
// what Landlock keeps from this process it does not keep from that thread, and before Linux 6.12 it knows nothing of signals at all. A
// filter of system calls holds the rest: of the thread it knows the id. The others come and go, so where Landlock does not hold them,
// kill and tkill are put to the server (broker). What has no second way for programs is compared, what has one is refused.

// starter is the process, its group and the thread that start a command.
type starter struct{ process, group, thread int }

// lacking says what Landlock does not hold here.
type lacking struct {
	// signals to others than the starter's thread.
	signals bool
	// truncation of files, which before Linux 6.2 takes no right to write.
	truncation bool
}

// isolation is the filter of a command at Landlock.
func isolation(from starter, not lacking) ([]byte, error) {
	p := native()
	p.only(unix.SYS_PRLIMIT64, program{ // the server would end with its own limits
		argument(0),
		ifIs(0, 5), // the command's own
		argument(2),
		unless(0, 2),
		load(dataArguments + 8*2 + 4),
		ifIs(0, 1), // they are only read
		answer(unix.EPERM),
	})
	p.only(unix.SYS_IOCTL, terminalInjection())
	p.only(unix.SYS_FCNTL, refused(1, unix.F_SETLEASE))
	p.deny(answer(unix.EPERM), unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY) // keys belong to the user, and can be read
	if not.truncation {
		// Files that may be read only are emptied by a descriptor, or opened for writing.
		p.deny(answer(unix.EACCES), unix.SYS_TRUNCATE)
		p.only(unix.SYS_OPENAT, emptied(2))
		p.only(unix.SYS_OPEN_BY_HANDLE_AT, emptied(2))
		if sysOpen != 0 {
			p.only(sysOpen, emptied(1))
		}
		p.deny(answer(unix.ENOSYS), append(ring(), unix.SYS_OPENAT2)...) // their flags cannot be seen
	}
	if not.signals {
		p.only(unix.SYS_KILL, passedOn(from))
		p.deny(asked, unix.SYS_TKILL)
		p.deny(answer(unix.EPERM), unix.SYS_RT_SIGQUEUEINFO)
	} else {
		for _, number := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO} {
			p.only(number, refused(0, uint32(from.thread)))
		}
	}
	// The thread's process is named beside it. Go's own runtime sends SIGURG to
	// this process's threads, from this thread too, and heeds no other.
	p.only(unix.SYS_TGKILL, program{
		argument(0),
		unless(uint32(from.process), 3),
		argument(2),
		ifIs(uint32(unix.SIGURG), 1),
		answer(unix.EPERM),
	})
	p.only(unix.SYS_RT_TGSIGQUEUEINFO, refused(0, uint32(from.process)))
	// Programs take kill instead.
	p.deny(answer(unix.ENOSYS), unix.SYS_PIDFD_SEND_SIGNAL)
	// A descriptor's owner may be anybody; the signal it gets stays SIGIO.
	p.only(unix.SYS_FCNTL, refused(1, unix.F_SETSIG))
	return p.assemble()
}

// passedOn passes on what kill is to reach. Process ids have 32 bits; the kernel does not look at the rest.
func passedOn(from starter) program {
	return program{
		argument(0),
		ifIs(0, 6), // its own group: a command has one
		ifIs(^uint32(0), 3),
		ifIs(uint32(from.process), 2),
		ifIs(-uint32(from.group), 1),
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 1 << 31, SkipTrue: 1, SkipFalse: 2},
		answer(unix.EPERM),
		asked,
		allowed, // another group
	}
}

// isolate keeps the calling thread, and what it starts, from signalling this process, from its limits and from its
// memory, as far as Landlock does not, and from emptying files; until the broker is dismissed, where there is one.
func isolate(not lacking) (*broker, error) {
	if err := dropRights(); err != nil {
		return nil, err
	}
	filter, err := isolation(starter{process: os.Getpid(), group: unix.Getpgrp(), thread: unix.Gettid()}, not)
	if err != nil {
		return nil, err
	}
	// It may be slower than one with the kernel's care for speculation (SPEC_ALLOW turns that off): what it keeps are
	// actions, not secrets.
	if !not.signals {
		_, err = putFilter(filter, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
		return nil, err
	}
	const asking = unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	// What waits for an answer is not to be woken by a signal that it caused.
	listener, err := putFilter(filter, asking|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		listener, err = putFilter(filter, asking) // before Linux 5.19
	}
	if err != nil {
		return nil, err
	}
	return newBroker(listener), nil
}

// emptied refuses to empty what is not opened for writing, by the flags in an argument.
func emptied(flags uint32) program {
	return program{
		argument(flags),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.O_TRUNC, SkipFalse: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: unix.O_ACCMODE},
		ifIs(unix.O_WRONLY, 2),
		ifIs(unix.O_RDWR, 1), // there is a fourth way, which is neither
		answer(unix.EACCES),
	}
}

// trySignals does it to a thread that is thrown away.
func trySignals(abi int) bool {
	return onThread(func() bool {
		not, err := restrict(&Profile{}, abi)
		if err != nil {
			return false
		}
		w, err := isolate(not)
		defer w.dismiss()
		return err == nil
	})
}

// The thread that starts a command at Landlock has the command's domain, and shares this process's memory and descriptors: by
// Landlock alone the command could trace it, read /proc/TID/mem, or take a descriptor of the ledger. So startLandlock closes
// memory, environment and descriptors to every other process of this user, for good (PR_SET_DUMPABLE; there are no core dumps
// from then on). It takes the right to trace to get there all the same, which dropRights takes from commands.

// kept are the rights of root that a build as root uses: over files, owners and users, and to signal. All others are taken: those
// that reach into other processes or the kernel, make devices, set the clock, listen to the network or change it.
var kept = [...]uint{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
	unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
}

// dropRights takes the others from the calling thread, and from what it starts.
func dropRights() error {
	var keep uint64
	for _, right := range kept {
		keep |= 1 << right
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var rights [2]unix.CapUserData
	if err := unix.Capget(&header, &rights[0]); err != nil {
		return fmt.Errorf("look at the rights: %w", err)
	}
	for right := range uint(64) {
		if keep>>right&1 != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(right), 0, 0, 0)
		if err == unix.EINVAL {
			break // the kernel knows no more
		}
		if err != nil && err != unix.EPERM { // with EPERM a program gets it no more: no_new_privs
			return fmt.Errorf("drop a right: %w", err)
		}
	}
	for i := range rights {
		half := uint32(keep >> (32 * i))
		rights[i].Permitted &= half
		rights[i].Effective &= half
		rights[i].Inheritable &= half
	}
	if err := unix.Capset(&header, &rights[0]); err != nil {
		return fmt.Errorf("drop the rights: %w", err)
	}
	return nil
}

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
