package supervisor

import (
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// isUnix reports whether the kernel looks for a listener by this address: others it refuses.
func isUnix(address []byte) bool {
	return len(address) > 2 && *(*uint16)(unsafe.Pointer(&address[0])) == syscall.AF_UNIX
}

// judge finds who listens at an address, and returns one that leads to no other, and what must be held for that, or -1.
func (s *Supervisor) judge(q *kernel.Question, address []byte) (held int, allowed []byte, errno syscall.Errno) {
	path := address[2:]
	if path[0] == 0 {
		// Names that are in no directory can change hands before they are used. Who
		// wants to be found under one has to give it up at the right moment.
		return -1, address, s.owned(ask{shown: showName, name: path})
	}
	for i, b := range path {
		if b == 0 {
			path = path[:i]
			break
		}
	}
	file, errno := find(q, path)
	if errno != 0 {
		return -1, nil, errno
	}
	if errno := s.ownedFile(file); errno != 0 {
		return file, nil, errno
	}
	by := "/proc/self/fd/" + kernel.Decimal(uint64(file))
	return file, append(append(append([]byte{}, address[:2]...), by...), 0), 0
}

// open follows links, but not those of /proc: they would be the supervisor's.
func open(dir int, path []byte) (int, syscall.Errno) {
	return kernel.Openat2(dir, string(path), 0, kernel.NoMagic)
}

// find holds the file that a path of the caller leads to.
func find(q *kernel.Question, path []byte) (int, syscall.Errno) {
	if path[0] == '/' {
		return open(0, path) // all have one root
	}
	dir, err := syscall.Open("/proc/"+kernel.Decimal(uint64(q.PID))+"/cwd", kernel.OPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, err.(syscall.Errno)
	}
	defer syscall.Close(dir)
	return open(dir, path)
}

// ownedFile is 0 if who listens at a file was noted.
func (s *Supervisor) ownedFile(file int) syscall.Errno {
	var info syscall.Stat_t
	if err := syscall.Fstat(file, &info); err != nil {
		return err.(syscall.Errno)
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return syscall.ECONNREFUSED
	}
	// As the kernel has it (new_encode_dev in linux/kdev_t.h).
	major, minor := info.Dev>>8&0xfff, info.Dev&0xff|info.Dev>>12&0xfff00
	about := ask{shown: showFile, inode: uint32(info.Ino), device: uint32(major<<20 | minor)}
	errno := s.owned(about)
	if errno == syscall.ECONNREFUSED {
		// Some file systems (btrfs, overlayfs) say another device than they are on.
		device, known := mountedOn(file)
		if known && device != about.device {
			about.device = device
			return s.owned(about)
		}
	}
	return errno
}

// mountedOn is the device of the mount that a file is in, by /proc/self/mountinfo.
func mountedOn(file int) (device uint32, known bool) {
	info, errno := kernel.Statx(file, "", kernel.AtEmpty, kernel.MountID)
	if errno != 0 || info.Mask&kernel.MountID == 0 {
		return 0, false
	}
	table, errno := read("/proc/self/mountinfo")
	if errno != 0 {
		return 0, false
	}
	return deviceOf(info.Mount, table)
}

// deviceOf finds a mount in the table: the first and third field are its number and its device.
func deviceOf(mount uint64, table []byte) (device uint32, known bool) {
	for len(table) > 0 {
		number, rest := parse(table)
		if number == mount {
			rest = rest[min(1, len(rest)):]
			_, rest = parse(rest) // its parent
			major, rest := parse(rest[min(1, len(rest)):])
			minor, _ := parse(rest[min(1, len(rest)):])
			return uint32(major<<20 | minor), true
		}
		for len(table) > 0 && table[0] != '\n' {
			table = table[1:]
		}
		table = table[min(1, len(table)):]
	}
	return 0, false
}
