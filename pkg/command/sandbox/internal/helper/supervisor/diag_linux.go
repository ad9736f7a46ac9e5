package supervisor

import (
	"syscall"
	"unsafe"
)

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
