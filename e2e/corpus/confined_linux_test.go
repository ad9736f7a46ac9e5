package corpus_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Environment variables that make this test binary start itself again as the server of a machine that withholds
// something: names of confinements, with commas, and the user that the server is to have.
const (
	confineEnv = "CORPUS_CONFINE"
	userEnv    = "CORPUS_USER"
)

// confinements are what a machine or a container withholds. They are put in place by root, before the server starts.
func confinements() map[string]func() error {
	return map[string]func() error{
		"no /proc":            func() error { return unix.Mount("none", "/proc", "tmpfs", 0, "") },
		"read-only /proc":     func() error { return mountFlags("/proc", unix.MS_RDONLY) },
		"masked /proc":        maskProc,
		"read-only /sys":      func() error { return mountFlags("/sys", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV) },
		"no /sys":             func() error { return unix.Mount("none", "/sys", "tmpfs", 0, "") },
		"no /dev/shm":         fewDevices,
		"no programs in /tmp": func() error { return mountFlags("/tmp", unix.MS_NOEXEC|unix.MS_NOSUID|unix.MS_NODEV) },
		"no user namespaces": func() error {
			return filtered(denies(unix.EPERM, cloneFlag(unix.CLONE_NEWUSER)), denies(unix.EPERM, unix.SYS_UNSHARE))
		},
		"no user namespaces, by an LSM": func() error { return filtered(denies(unix.EACCES, cloneFlag(unix.CLONE_NEWUSER))) },
		"no more user namespaces":       func() error { return filtered(denies(unix.ENOSPC, cloneFlag(unix.CLONE_NEWUSER))) },
		"no mounts in user namespaces":  func() error { return filtered(denies(unix.EACCES, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR)) },
		"no open_tree":                  func() error { return filtered(denies(unix.EPERM, unix.SYS_OPEN_TREE)) },
		"an old kernel's mounts": func() error {
			return filtered(denies(unix.ENOSYS, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE))
		},
		"no openat2": func() error { return filtered(denies(unix.ENOSYS, unix.SYS_OPENAT2)) },
		"no seccomp": func() error {
			return filtered(denies(unix.EINVAL, unix.SYS_SECCOMP), firstArgument(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.EINVAL))
		},
		"no Landlock":                      func() error { return filtered(denies(unix.EOPNOTSUPP, landlock()...)) },
		"no Landlock, by a container":      func() error { return filtered(denies(unix.EPERM, landlock()...)) },
		"a kernel without Landlock":        func() error { return filtered(denies(unix.ENOSYS, landlock()...)) },
		"the filter of a container":        func() error { return filtered(container()...) },
		"no process descriptors":           func() error { return filtered(denies(unix.ENOSYS, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL)) },
		"no groups for processes to be in": func() error { return unix.Mount("none", "/sys/fs/cgroup", "tmpfs", unix.MS_RDONLY, "") },
	}
}

// confine puts this process into a machine that withholds what is named, and starts the server in it.
func confine(names string) error {
	runtime.LockOSThread() // what is withheld from it is withheld from what it executes
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a view of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("a view of its own: %w", err)
	}
	self, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(names, ";") {
		withhold, ok := confinements()[name]
		if !ok {
			return fmt.Errorf("there is no %q", name)
		}
		if err := withhold(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if id, err := strconv.Atoi(os.Getenv(userEnv)); err == nil {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(id), syscall.Setuid(id)); err != nil {
			return err
		}
	}
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, confineEnv) && !strings.HasPrefix(variable, userEnv) {
			environment = append(environment, variable)
		}
	}
	return execute(self, environment)
}

// execute starts an open program in the place of this one.
func execute(program int, environment []string) error {
	arguments := []*byte{pointer("server"), nil}
	var variables []*byte
	for _, variable := range environment {
		variables = append(variables, pointer(variable))
	}
	variables = append(variables, nil)
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(program), uintptr(unsafe.Pointer(pointer(""))),
		uintptr(unsafe.Pointer(&arguments[0])), uintptr(unsafe.Pointer(&variables[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}

func pointer(text string) *byte {
	p, err := unix.BytePtrFromString(text)
	if err != nil {
		panic(err) // a name of this file
	}
	return p
}

// mountFlags binds a directory onto itself with flags.
func mountFlags(path string, flags uintptr) error {
	return errors.Join(
		unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""),
		unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""),
	)
}

// fewDevices leaves no more in /dev than a container must have.
func fewDevices() error {
	open := map[string]int{}
	for _, name := range []string{"null", "zero", "urandom"} {
		fd, err := unix.Open("/dev/"+name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		open[name] = fd
	}
	if err := unix.Mount("none", "/dev", "tmpfs", 0, ""); err != nil {
		return err
	}
	for name, fd := range open {
		if err := os.WriteFile("/dev/"+name, nil, 0o600); err != nil {
			return err
		}
		if err := unix.Mount("/proc/self/fd/"+strconv.Itoa(fd), "/dev/"+name, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// maskProc hides of /proc what container runtimes hide; the kernel then lets
// nobody in a user namespace mount another one.
func maskProc() error {
	for _, dir := range []string{"/proc/fs", "/proc/irq"} {
		if err := unix.Mount("none", dir, "tmpfs", unix.MS_RDONLY, "size=0k"); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return errors.Join(
		unix.Mount("/dev/null", "/proc/timer_list", "", unix.MS_BIND, ""),
		mountFlags("/proc/sys", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC),
	)
}

// denial is a part of a filter of system calls.
type denial func() []bpf.Instruction

// call is a system call, with a flag among its first argument if that matters.
type call struct{ number, flag uint32 }

func cloneFlag(flag uint32) call { return call{unix.SYS_CLONE, flag} }

func denies(errno unix.Errno, calls ...any) denial {
	return func() (p []bpf.Instruction) {
		for _, each := range calls {
			switch c := each.(type) {
			case int:
				p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(c), SkipTrue: 1}, failure(errno))
			case call:
				p = append(p,
					bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 4},
					bpf.LoadAbsolute{Off: 16, Size: 4},
					bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: c.flag, SkipFalse: 1},
					failure(errno),
					bpf.LoadAbsolute{Off: 0, Size: 4},
				)
			}
		}
		return p
	}
}

func firstArgument(number, value uint32, errno unix.Errno) denial {
	return func() []bpf.Instruction {
		return []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 4},
			bpf.LoadAbsolute{Off: 16, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value, SkipTrue: 1},
			failure(errno),
			bpf.LoadAbsolute{Off: 0, Size: 4},
		}
	}
}

func failure(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func landlock() []any {
	return []any{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF}
}

// container is what the filter that Docker has by default refuses to a
// container without added rights, as far as it matters here.
func container() []denial {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	return []denial{
		denies(unix.ENOSYS, unix.SYS_CLONE3),
		denies(unix.EPERM, cloneFlag(namespaces)),
		denies(unix.EPERM, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE,
			unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK,
			unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
			unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_KCMP,
			unix.SYS_QUOTACTL, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_CLOCK_SETTIME, unix.SYS_REBOOT),
	}
}

// filtered puts a filter on this thread.
func filtered(denials ...denial) error {
	p := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}
	for _, d := range denials {
		p = append(p, d()...)
	}
	raw, err := bpf.Assemble(append(p, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	if err != nil {
		return err
	}
	var out []byte
	for _, instruction := range raw {
		out = binary.NativeEndian.AppendUint16(out, instruction.Op)
		out = append(out, instruction.Jt, instruction.Jf)
		out = binary.NativeEndian.AppendUint32(out, instruction.K)
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&out[0]))}
	// As root: no_new_privs is the server's to set.
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
