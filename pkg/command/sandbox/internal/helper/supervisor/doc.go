// Package supervisor connects sockets for processes that may not do it themselves, and connects none of them to a Unix socket of
// somebody else.
//
// A Unix socket is reached by whatever name leads to it: relative, renamed, linked, from another network namespace. A list of
// names keeps nobody from it. Here it is decided by what connects: a filter of system calls puts connect and listen to a
// [Supervisor] (seccomp_unotify(2)). For listen it notes the socket, by the number that the kernel gives to no other (SO_COOKIE),
// and lets the kernel go on: whatever is in the caller's hands by then, only sockets of the supervised processes are noted. For
// connect it never lets the kernel go on: by then the caller's memory or descriptors can be others. It takes the socket
// (pidfd_getfd(2)), copies the address, and connects the one to the other. Where that is a Unix socket, it holds the file that
// the name leads to, asks the kernel who listens there (unix_diag), and connects by the held file, if all of them were noted: a
// file belongs to one listener for ever, so there is nothing to be exchanged between.
//
// The same filter may put link and linkat to it. Whoever started the command is told before the first of them goes on, whatever
// it names: that is all that is asked about them.
//
// Datagram sockets are no part of this: each message can carry a name, so the filter must refuse them. What listens sees the
// supervisor as its peer (SO_PEERCRED): the process id is not the caller's.
//
// Like package helper it imports only what is initialised before almost all other packages.
package supervisor
