package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The thread that starts a command at Landlock has the command's domain, and shares this process's memory and descriptors: by
// Landlock alone the command could trace it, read /proc/TID/mem, or take a descriptor of the ledger. So startLandlock closes
// memory, environment and descriptors to every other process of this user, for good (PR_SET_DUMPABLE; there are no core dumps
// from then on). It takes the right to trace to get there all the same, which dropRights takes from commands.

// kept are the rights of root that a build as root uses: over files, owners and users, and to signal. All others are
// taken: those that reach into other processes or the kernel, make devices, set the clock, listen to the network or
// change it.
var kept = [...]uint{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
	unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
}

// dropRights takes the others from the calling thread, and from what it starts.
func dropRights() error {
	var keep [2]uint32
	for _, right := range kept {
		keep[right/32] |= 1 << (right % 32)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var rights [2]unix.CapUserData
	if err := unix.Capget(&header, &rights[0]); err != nil {
		return fmt.Errorf("look at the rights: %w", err)
	}
	for right := uint(0); right < 64; right++ {
		if keep[right/32]&(1<<(right%32)) != 0 {
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
		rights[i].Permitted &= keep[i]
		rights[i].Effective &= keep[i]
		rights[i].Inheritable &= keep[i]
	}
	if err := unix.Capset(&header, &rights[0]); err != nil {
		return fmt.Errorf("drop the rights: %w", err)
	}
	return nil
}
