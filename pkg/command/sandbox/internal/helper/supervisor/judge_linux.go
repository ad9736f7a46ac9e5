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

// Values of linux/sock_diag.h and linux/unix_diag.h.
const (
	netlinkSockDiag = 4
	byFamily        = 20
	showName        = 1 // and the attribute is 0
	showFile        = 2 // and the attribute is 1
	stateListen     = 10
	headerSize      = 16 // of a message, and of what it says of a socket
)

// ask is what is looked for: a name, or a file.
type ask struct {
	shown         uint32
	name          []byte
	inode, device uint32
}

// owned is 0 if somebody listens there, in this network namespace, and all who do
// were noted: the kernel says only half of a file's number.
func (s *Supervisor) owned(about ask) syscall.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errno := s.request(about.shown); errno != 0 {
		return errno
	}
	errno := syscall.ECONNREFUSED
	if s.answers == nil {
		s.answers = make([]byte, 1<<16)
	}
	for {
		n, err := syscall.Read(s.diag, s.answers)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return s.hangUp(err.(syscall.Errno))
		}
		for messages := s.answers[:n]; len(messages) >= headerSize; {
			length := int(*(*uint32)(unsafe.Pointer(&messages[0])))
			if length < headerSize || length > len(messages) {
				return s.hangUp(syscall.EPROTO)
			}
			switch *(*uint16)(unsafe.Pointer(&messages[4])) {
			case syscall.NLMSG_DONE:
				return errno
			case syscall.NLMSG_ERROR:
				return s.hangUp(syscall.EACCES)
			}
			if cookie, is := about.matches(messages[headerSize:length]); is {
				if !s.listening[cookie] {
					return s.hangUp(syscall.EACCES)
				}
				errno = 0
			}
			messages = messages[min(align(length), len(messages)):]
		}
	}
}

// hangUp leaves the rest of an answer unread.
func (s *Supervisor) hangUp(errno syscall.Errno) syscall.Errno {
	syscall.Close(s.diag)
	s.diag = 0
	return errno
}

// request asks for everything that listens.
func (s *Supervisor) request(shown uint32) syscall.Errno {
	if s.diag == 0 {
		fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, netlinkSockDiag)
		if err != nil {
			return syscall.EACCES
		}
		s.diag = fd
	}
	message := struct {
		length          uint32
		kind, flags     uint16
		sequence, port  uint32
		family          uint8
		_               [3]uint8
		states, _, show uint32
		_               [2]uint32
	}{kind: byFamily, flags: syscall.NLM_F_REQUEST | syscall.NLM_F_DUMP, family: syscall.AF_UNIX, states: 1 << stateListen, show: shown}
	message.length = uint32(unsafe.Sizeof(message))
	_, _, errno := syscall.Syscall(syscall.SYS_WRITE, uintptr(s.diag), uintptr(unsafe.Pointer(&message)), unsafe.Sizeof(message))
	if errno != 0 {
		s.hangUp(errno)
		return syscall.EACCES
	}
	return 0
}

// matches reports whether a listener (struct unix_diag_msg and its attributes) is what is looked for.
func (a *ask) matches(listener []byte) (cookie uint64, is bool) {
	if len(listener) < headerSize {
		return 0, false
	}
	cookie = *(*uint64)(unsafe.Pointer(&listener[8]))
	for attributes := listener[headerSize:]; len(attributes) >= 4; {
		length := int(*(*uint16)(unsafe.Pointer(&attributes[0])))
		if length < 4 || length > len(attributes) {
			return 0, false
		}
		value := attributes[4:length]
		switch kind := *(*uint16)(unsafe.Pointer(&attributes[2])); {
		case kind == 0 && a.shown == showName:
			return cookie, string(value) == string(a.name)
		case kind == 1 && a.shown == showFile && len(value) >= 8:
			return cookie, *(*uint32)(unsafe.Pointer(&value[0])) == a.inode && *(*uint32)(unsafe.Pointer(&value[4])) == a.device
		}
		attributes = attributes[min(align(length), len(attributes)):]
	}
	return 0, false
}

// align is where the next message or attribute begins.
func align(length int) int { return (length + 3) &^ 3 }
