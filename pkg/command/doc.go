// Package command runs one shell command line at a time for an agent and keeps what it printed.
//
// # Promise
//
//   - The command starts in the directory behind an open descriptor: a directory that is swapped for a link after it
//     was checked is not entered.
//   - Standard input is empty unless the caller gives some, standard output and standard error are one stream in the
//     order in which they were written unless the caller wants them apart, and no descriptor of the server reaches the
//     command.
//   - Memory is constant whatever is printed: the stream goes to an artifact file up to a cap, and what is returned is a
//     bounded head and tail in valid UTF-8 without terminal control sequences. The artifact keeps the bytes.
//   - When Run returns, because the shell ended, the time was over or the context was, the processes of the command are
//     dead. A background process that holds the output open does not hold up the call.
//
// # How a process tree is found
//
// The shell gets a session of its own and the environment variable [MarkerVariable] with a random value. On Linux the
// processes of a command are those in the shell's session, those that carry the marker, every descendant of these, and
// everything in the sessions that these have opened. They are stopped first, until a walk over /proc finds no new one,
// and killed then, so that killing a parent cannot hide a child. Signals go through pid descriptors: a reused process
// id is never hit. A process that is made while the table is read can be missed, so a walk counts only if none was made.
//
// A command is also held to a number of processes, in a control group where one can be made (package cgroup), else by a
// watchdog. Who is in the group belongs to the command.
//
// # The marker
//
//	ORCHESTRA_RUN=<pid namespace>.<pid of the server>.<its start time>.<32 hex digits>
//
// By it a later server finds what one left that was killed. [Jobs] is the table of commands in the background. A [Service] is a program
// that we talk with: its first process ends with the server, at every level of Linux, and itself when it sees its input end.
//
// # What is not promised
//
// Without further help a process escapes that leaves the session, loses its parent and clears its environment (setsid, double fork, env
// -i). [Options.AdoptOrphans] closes this for a server that may choose it for its whole process. What asks another daemon to run
// something (systemd-run, at, docker) is out of reach of both, a setuid program cannot be signalled by an ordinary user (see
// [Result.Survivors]), and when the server itself is killed only the shell dies with it, until [Runner.EndAbandoned] of the next one
// ends the rest. A pid namespace of the sandbox ends all of these. On other Unix systems only the process group is killed. On Windows
// commands are refused with [ErrUnsupported].
//
// The package does not judge a command: scope, policy and sandbox are decided before Run is called.
package command
