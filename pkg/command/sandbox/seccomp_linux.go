package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data. The arguments are 64 bits wide, little endian on both architectures; what is compared
// here are their lower halves, which is all that the kernel takes of these.
const (
	dataNumber       = 0
	dataArchitecture = 4
	dataArguments    = 16
)

// x32Bit marks the system calls of the x32 interface, which a kernel for amd64 may have beside its own.
const x32Bit = 0x40000000

// newNamespaces are the flags of clone that make a namespace.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// seccompFilter is the program that a command at Full lives under. It allows what it does not name: the boundary is the
// view of the file system. What it names would change that view, reach into other processes, or is a part of the kernel
// that no build needs and attacks begin with.
//
// With a supervisor (package internal/helper/supervisor) a command has Unix sockets, and is
// connected to those of the command only; without one it has only connected pairs. If links are told of, the supervisor hears
// of each call that can give a file one more name.
func seccompFilter(supervised, links bool) ([]byte, error) {
	p := native()
	if supervised {
		p.deny(asked, unix.SYS_CONNECT, unix.SYS_LISTEN)
	}
	if links {
		p.deny(asked, linking()...)
	}
	// Programs have another way, which they take where the kernel does not have these: clone3 hides its flags from a filter,
	// and io_uring does the work of other calls unseen by it.
	p.deny(answer(unix.ENOSYS), append(ring(), unix.SYS_CLONE3)...)
	p.deny(answer(unix.EPERM), append(forbidden(), forbiddenHere()...)...)
	p.only(unix.SYS_CLONE, program{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1},
		answer(unix.EPERM),
	})
	p.only(unix.SYS_IOCTL, terminalInjection())
	p.only(unix.SYS_FCNTL, refused(1, unix.F_SETLEASE))
	p.only(unix.SYS_SOCKET, sockets(supervised))
	p.only(unix.SYS_SOCKETPAIR, connected())
	return p.assemble()
}

// native begins a filter: it lets only calls of this architecture's own
// interface come further, and leaves the call's number to be looked at.
func native() program {
	p := program{
		load(dataArchitecture),
		ifIs(auditArchitecture, 1),
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		load(dataNumber),
	}
	if auditArchitecture == unix.AUDIT_ARCH_X86_64 {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1}, answer(unix.ENOSYS))
	}
	return p
}

func ring() []uint32 {
	return []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}
}

// forbidden are calls that are refused whatever their arguments.
func forbidden() []uint32 {
	return []uint32{
		// Other processes.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
		unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		// The view of the file system.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
		unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
		// Keys belong to the user, not to the namespace.
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// The kernel.
		unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEXEC_LOAD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_VHANGUP,
	}
}

// terminalInjection refuses to type into a terminal for its user. The request is compared as the 32 bits that the kernel looks at.
func terminalInjection() program {
	return program{
		argument(1),
		ifIs(unix.TIOCSTI, 1),
		unless(tiocLinux, 1),
		answer(unix.EPERM),
	}
}

const tiocLinux = 0x541c

// refused refuses a call with one value of an argument. A lease of a file (F_SETLEASE) would let who can read it keep
// everybody from opening it for as long as /proc/sys/fs/lease-break-time says, again and again.
func refused(index, value uint32) program {
	return program{
		argument(index),
		unless(value, 1),
		answer(unix.EPERM),
	}
}

// sockets are what a command may have of them: those of the Internet, which the network namespace holds, Unix sockets
// that are connected before they send, and the kernel's own account of interfaces. Others, such as those to a virtual
// machine's host, reach around the namespace.
func sockets(unixToo bool) program {
	p := program{argument(0)}
	p.deny(allowed, unix.AF_INET, unix.AF_INET6)
	if unixToo {
		p = append(p, unless(unix.AF_UNIX, uint8(len(connected())+1)))
		p = append(append(p, connected()...), allowed)
	}
	return append(p,
		unless(unix.AF_NETLINK, 3),
		argument(2),
		unless(unix.NETLINK_ROUTE, 1),
		allowed,
		answer(unix.EPERM),
	)
}

// connected refuses Unix sockets of datagrams: each message can have another's name on it, in memory, where no filter
// sees it. Of streams and packets the kernel takes no name but by connect.
func connected() program {
	const kinds = 0xf
	return program{
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kinds},
		ifIs(unix.SOCK_STREAM, 2),
		ifIs(unix.SOCK_SEQPACKET, 1),
		answer(unix.EPERM),
	}
}

// ifIs and unless skip some instructions where what is loaded is a value, or is not.
func ifIs(value uint32, skip uint8) bpf.Instruction {
	return bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: skip}
}

func unless(value uint32, skip uint8) bpf.Instruction {
	return bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value, SkipTrue: skip}
}

// allowed lets the kernel go on; asked puts the call to who listens.
var (
	allowed = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	asked   = bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
)

func answer(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func load(at uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: at, Size: 4} }

func argument(index uint32) bpf.Instruction {
	return load(dataArguments + 8*index)
}

// program is a filter in the making. Between its parts the number of the system call is loaded.
type program []bpf.Instruction

// deny answers each of some numbers with one instruction.
func (p *program) deny(what bpf.Instruction, numbers ...uint32) {
	for _, number := range numbers {
		*p = append(*p, unless(number, 1), what)
	}
}

// only adds a part for one system call, which has its answer or is passed on.
func (p *program) only(number uint32, part program) {
	*p = append(*p, unless(number, uint8(len(part)+1)))
	*p = append(*p, part...)
	*p = append(*p, load(dataNumber))
}

// assemble is the program as an array of struct sock_filter; what it has no answer for is allowed.
func (p program) assemble() ([]byte, error) {
	if auditArchitecture == 0 {
		return nil, errors.New("there is no filter of system calls for this architecture")
	}
	raw, err := bpf.Assemble(append(p, allowed))
	if err != nil {
		return nil, fmt.Errorf("assemble the filter: %w", err)
	}
	var out []byte
	for _, instruction := range raw {
		out = binary.NativeEndian.AppendUint16(out, instruction.Op)
		out = append(out, instruction.Jt, instruction.Jf)
		out = binary.NativeEndian.AppendUint32(out, instruction.K)
	}
	return out, nil
}

// putFilter puts a filter on the calling thread, and on what it starts.
func putFilter(filter []byte, flags uintptr) (listener int, err error) {
	program := unix.SockFprog{Len: uint16(len(filter) / unix.SizeofSockFilter), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// denySockets keeps the calling thread, and what it starts, from making a socket of any family: without a network namespace
// nothing else keeps UDP and Unix sockets in. Connected pairs stay, because shells and tools talk to their own children by them.
func denySockets() error {
	p := native()
	p.deny(answer(unix.ENOSYS), ring()...) // it makes sockets too
	p.deny(answer(unix.EPERM), unix.SYS_SOCKET)
	p.only(unix.SYS_SOCKETPAIR, connected())
	filter, err := p.assemble()
	if err == nil {
		_, err = putFilter(filter, 0)
	}
	return err
}

// trySockets does it to a thread that is thrown away.
func trySockets() bool {
	return onThread(func() bool {
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = denySockets()
		}
		fd, made := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if made == nil {
			unix.Close(fd)
		}
		return err == nil && made == unix.EPERM
	})
}
