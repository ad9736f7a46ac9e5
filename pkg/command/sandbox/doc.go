// Package sandbox holds a command inside a boundary that the kernel keeps.
//
// A [Profile] says what a command may reach. A [Level] is how much of a Profile this machine can hold a process to; [Probe] finds
// the highest that works. [Start] starts the process; the package neither judges a command, nor makes a Profile, nor looks for
// what a command changed.
//
// # The level landlock
//
// The thread that starts the command is restricted, and with it all that comes of it: writing, making, removing and renaming
// files everywhere but in what is Writable, in Temp and on the devices that tools need; TCP where the network is denied (from
// Linux 6.7); abstract Unix sockets and signals to processes outside (from 6.12); Unix sockets with a name (from 7.1). A setuid
// program gets no rights.
//
// That thread stays with the command, in its domain, and is one of the server: Landlock alone would let the command trace it,
// read the server's memory and take its descriptors. So the server's memory is closed to other processes, root's commands keep
// only the rights over files, owners and users, and a filter of system calls keeps signals from that thread and limits from the
// server, and keys of the kernel from both; where Landlock knows no signals, the server itself sends what a command may send
// (seccomp_unotify(2)), so a signal seems to come from it. Before 6.2 the filter keeps what may only be read from being emptied,
// and openat2 and io_uring are missing for that.
//
// It does not hold: listing; modes, owners, times and extended attributes of files; UDP; signals to the user's other programs
// before 6.12; Unix sockets with a name before 7.1, and with them every daemon that takes orders there; shared memory, semaphores
// and queues (/dev/shm, System V); the server's priority and processors. There are no pseudo-terminals: those that a command
// makes cannot be told from the operator's.
//
// # The level full
//
// The program starts itself once more as a helper (internal/helper), in user, mount, process, IPC and UTS namespaces, and in a
// network namespace where the network is denied. The ids outside are those inside. The helper makes everything read-only but the
// profile, puts a mount over each path that must stay, gives up every right, adds Landlock and a seccomp filter, and starts the
// command. It stays, and connects the command's sockets: to no Unix socket but the command's own (internal/helper/supervisor).
// docs/threat-model.md says what that holds and what it does not.
//
// It replaces /tmp and /var/tmp by Temp, /run by nothing, /dev by the devices that tools need and /proc by that of the command
// alone. The workspace, what is Writable, and the directories that HOME and PATH name stay where they are.
//
// Where no layers are, [Held.Linked] says whether the command gave a file one more name.
//
// What is Frozen and absent gets a placeholder in the real file system (package internal/placeholder) from Start until Close, with a
// shared flock on it by each process that relies on it. After a kill, whoever freezes the same path next takes it over, and [Sweep]
// removes it. A start costs two to three milliseconds more than without a profile, and about 15 microseconds for each mask.
package sandbox
