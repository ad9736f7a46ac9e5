package sandbox

import "golang.org/x/sys/unix"

const auditArchitecture = unix.AUDIT_ARCH_X86_64

// forbiddenHere are the calls that not all architectures have.
func forbiddenHere() []uint32 {
	return []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM}
}

// linking are the calls that give a file one more name.
func linking() []uint32 { return []uint32{unix.SYS_LINK, unix.SYS_LINKAT} }

// sysOpen is a call that not all architectures have; 0 is that this one has not.
const sysOpen = unix.SYS_OPEN
