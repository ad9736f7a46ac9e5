package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack is what the test binary does inside a profile. It ends with 0 where the
// attack succeeded, and prints what the kernel said.
func attack(name string, arguments []string) {
	try, ok := attacks()[name]
	if !ok {
		fmt.Println("there is no attack", name)
		os.Exit(0) // which fails the test
	}
	if err := try(arguments); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
}

func attacks() map[string]func([]string) error {
	raw := func(number uintptr, arguments ...uintptr) func([]string) error {
		var a [6]uintptr
		copy(a[:], arguments)
		return func([]string) error {
			_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
			if errno != 0 {
				return errno
			}
			return nil
		}
	}
	socket := func(family, kind, protocol int) func([]string) error {
		return func([]string) error {
			_, err := unix.Socket(family, kind, protocol)
			return err
		}
	}
	ring := make([]byte, 256)
	return map[string]func([]string) error{
		"exchange": func(a []string) error {
			return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
		},
		"map":            mapFile,
		"setxattr":       func(a []string) error { return unix.Setxattr(a[0], "user.x", []byte("x"), 0) },
		"ptrace":         func([]string) error { return unix.PtraceAttach(1) },
		"traceme":        raw(unix.SYS_PTRACE, 0),
		"vm-read":        raw(unix.SYS_PROCESS_VM_READV, 1),
		"vm-write":       raw(unix.SYS_PROCESS_VM_WRITEV, 1),
		"pidfd-getfd":    raw(unix.SYS_PIDFD_GETFD, ^uintptr(0)),
		"io-uring":       raw(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&ring[0]))),
		"bpf":            raw(unix.SYS_BPF, 5, uintptr(unsafe.Pointer(&ring[0])), 120),
		"keyctl":         raw(unix.SYS_KEYCTL, 0, ^uintptr(2), 1),
		"add-key":        raw(unix.SYS_ADD_KEY),
		"userfaultfd":    raw(unix.SYS_USERFAULTFD, 1),
		"perf":           raw(unix.SYS_PERF_EVENT_OPEN),
		"handle":         raw(unix.SYS_OPEN_BY_HANDLE_AT),
		"unshare-user":   raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"unshare-mounts": raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS),
		"setns":          raw(unix.SYS_SETNS),
		"clone-user":     raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)),
		"clone3":         raw(unix.SYS_CLONE3),
		"mount-setattr":  mountSetattr,
		"open-tree":      raw(unix.SYS_OPEN_TREE, ^uintptr(99), uintptr(unsafe.Pointer(&[]byte("/\x00")[0])), 1),
		"fsopen":         raw(unix.SYS_FSOPEN, uintptr(unsafe.Pointer(&[]byte("tmpfs\x00")[0]))),
		"remount":        func([]string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"umount":         func([]string) error { return unix.Unmount("/tmp", unix.MNT_DETACH) },
		"pivot":          raw(unix.SYS_PIVOT_ROOT),
		"kexec":          raw(unix.SYS_KEXEC_LOAD),
		"module":         raw(unix.SYS_INIT_MODULE),
		"tiocsti":        raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&ring[0]))),
		"tiocsti-high":   raw(unix.SYS_IOCTL, 0, high(0x7f)|unix.TIOCSTI, uintptr(unsafe.Pointer(&ring[0]))),
		"tioclinux":      raw(unix.SYS_IOCTL, 0, 0x541c, uintptr(unsafe.Pointer(&ring[0]))),
		"x32":            x32,
		"i386":           i386,
		"vsock":          socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"uevents":        socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		"packets":        socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"crypto":         socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"unix":           socket(unix.AF_UNIX, unix.SOCK_STREAM, 0),
		"unix-high":      socket(unix.AF_UNIX|int(high(1)), unix.SOCK_STREAM, 0),
		"unix-datagrams": socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0),
		"datagram-pair":  pair(unix.SOCK_DGRAM),
		"raw-pair":       pair(unix.SOCK_RAW),
		"stream-pair":    pair(unix.SOCK_STREAM | unix.SOCK_CLOEXEC),
		"tcp":            connectTo(unix.AF_INET, unix.SOCK_STREAM),
		"udp":            connectTo(unix.AF_INET, unix.SOCK_DGRAM),
		"tcp-inside":     tcpInside,
		"connect":        connectUnix,
		"serve":          serve,
	}
}

func mapFile(a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	return err
}

func mountSetattr([]string) error {
	return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
}

func pair(kind int) func([]string) error {
	return func([]string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		return err
	}
}

// x32 makes a system call by the interface of that name.
func x32([]string) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("there is no such interface")
	}
	if _, _, errno := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// i386 starts a 32-bit program that does nothing but exit with status 0.
func i386([]string) error {
	program := append([]byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"+
		"\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00"+
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x60\x00\x00\x00\x60\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00"),
		"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80\x90\x90\x90"...) // mov eax,1; xor ebx,ebx; int 0x80
	path := os.TempDir() + "/i386"
	if err := os.WriteFile(path, program, 0o700); err != nil {
		fmt.Println("could not be tried:", err)
		return nil
	}
	process, err := os.StartProcess(path, []string{path}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	state, err := process.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}

// connectTo connects to a port of the loopback interface and sends a byte.
func connectTo(family, kind int) func([]string) error {
	return func(a []string) error {
		var port int
		fmt.Sscan(a[0], &port)
		fd, err := unix.Socket(family, kind, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("x"))
		return err
	}
}

// tcpInside listens and connects to itself.
func tcpInside([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 1); err != nil {
		return err
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	return connectTo(unix.AF_INET, unix.SOCK_STREAM)([]string{fmt.Sprint(address.(*unix.SockaddrInet4).Port)})
}

// connectUnix connects to a Unix socket; a name that begins with @ is abstract.
func connectUnix(a []string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: a[0]})
}

// high puts bits where only a 64-bit kernel has some: a filter must not be fooled by what it does not compare.
func high(bits uint64) uintptr { return uintptr(bits << 32) }
