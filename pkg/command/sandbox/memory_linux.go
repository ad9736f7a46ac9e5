package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The thread that starts a command at Landlock has the command's domain, and
// shares this process's memory and descriptors: by Landlock alone the command
// could trace it, read /proc/TID/mem, or take a descriptor of the ledger.

// closeMemory keeps every other process of this user from the memory, the
// environment and the descriptors of this one, for good. It takes the right to
// trace to get there, which dropRights takes from commands. There are no core
// dumps from then on.
func closeMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the server's memory: %w", err)
	}
	return nil
}

// dropped are rights of root that reach into other processes or into the
// kernel, for which nothing else in a command is held. Those over files stay.
var dropped = [...]uint{
	unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_CHECKPOINT_RESTORE,
	unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_BOOT, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
}

// dropRights takes them from the calling thread, and from what it starts.
func dropRights() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var rights [2]unix.CapUserData
	if err := unix.Capget(&header, &rights[0]); err != nil {
		return fmt.Errorf("look at the rights: %w", err)
	}
	for _, right := range dropped {
		of, bit := &rights[right/32], uint32(1)<<(right%32)
		if of.Permitted&bit == 0 {
			continue
		}
		of.Permitted, of.Effective, of.Inheritable = of.Permitted&^bit, of.Effective&^bit, of.Inheritable&^bit
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(right), 0, 0, 0); err != nil && err != unix.EPERM {
			return fmt.Errorf("drop a right: %w", err) // with EPERM a program gets it no more: no_new_privs
		}
	}
	if err := unix.Capset(&header, &rights[0]); err != nil {
		return fmt.Errorf("drop the rights: %w", err)
	}
	return nil
}
