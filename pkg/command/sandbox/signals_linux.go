package sandbox

import (
	"errors"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A signal reaches a process by the id of any of its threads. The thread that starts a command has the command's domain
// of Landlock, so what Landlock keeps from this process it does not keep from that thread, and before Linux 6.12 it
// knows nothing of signals at all. A filter of system calls holds the rest: of the thread it knows the id. The others
// come and go, so where Landlock does not hold them, kill and tkill are put to the server (broker). What has no second
// way for programs is compared, what has one is refused.

// reachesProcesses is the part of a filter that keeps a command from changing
// the limits of other processes: the server would end with its own.
func reachesProcesses(p *program) {
	p.only(unix.SYS_PRLIMIT64, program{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5}, // its own
		argument(2),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
		bpf.LoadAbsolute{Off: dataArguments + 8*2 + 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, // they are only read
		answer(unix.EPERM),
	})
}

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
	reachesProcesses(&p)
	p.only(unix.SYS_IOCTL, terminalInjection())
	p.only(unix.SYS_FCNTL, refused(1, unix.F_SETLEASE))
	p.deny(answer(unix.EPERM), unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY) // keys belong to the user, and can be read
	if not.truncation {
		emptiesFiles(&p)
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
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(from.process), SkipTrue: 3},
		argument(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(unix.SIGURG), SkipTrue: 1},
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
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 6}, // its own group: a command has one
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: ^uint32(0), SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(from.process), SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: -uint32(from.group), SkipTrue: 1},
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

// emptiesFiles is the part of a filter that keeps a command from emptying files
// that it may read only. Programs do so with a descriptor, or open for writing.
func emptiesFiles(p *program) {
	p.deny(answer(unix.EACCES), unix.SYS_TRUNCATE)
	p.only(unix.SYS_OPENAT, emptied(2))
	p.only(unix.SYS_OPEN_BY_HANDLE_AT, emptied(2))
	if sysOpen != 0 {
		p.only(sysOpen, emptied(1))
	}
	p.deny(answer(unix.ENOSYS), append(ring(), unix.SYS_OPENAT2)...) // their flags cannot be seen
}

// emptied refuses to empty what is not opened for writing, by the flags in an argument.
func emptied(flags uint32) program {
	return program{
		argument(flags),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.O_TRUNC, SkipFalse: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: unix.O_ACCMODE},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.O_WRONLY, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.O_RDWR, SkipTrue: 1}, // there is a fourth way, which is neither
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
