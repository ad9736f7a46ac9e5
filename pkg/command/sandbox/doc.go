// Package sandbox holds a command inside a boundary that the kernel keeps.
//
// A [Box] says what a command may reach. A [Level] is how much of a Box this
// machine can hold a process to; [Probe] finds the highest that works. [Start]
// starts the process; the package neither judges a command, nor makes a Box,
// nor looks for what a command changed.
//
// # The level landlock
//
// The thread that starts the command is restricted, and with it all that comes
// of it: writing, making, removing and renaming files everywhere but in what
// is Writable, in Temp and on the devices that tools need; TCP where the
// network is denied (from Linux 6.7); abstract Unix sockets and signals to
// processes outside (from 6.12). A setuid program gets no rights.
//
// It does not hold: reading; modes, owners, times and extended attributes of
// files; truncate(2) before Linux 6.2; UDP; Unix sockets with a name, and with
// them every daemon that takes orders there; what else is shared in /dev/pts
// and /dev/shm.
package sandbox
