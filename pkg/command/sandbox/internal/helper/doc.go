// Package helper is the process between a server and a command that is held at the level full: the server's own program, started
// once more.
//
// It is process 1 of new namespaces. It reads a [Plan] from descriptor 3, gives itself the view of the file system that the plan
// describes, gives up every right, starts the command, says so, and waits. What remains when the command has ended dies with it.
// A step that fails is reported, and nothing is started.
//
// # Why there is an init function
//
// The program is started once for each command, and most of what it consists of is not needed for this. Packages are initialised
// in the order of their import paths as far as their imports allow (Go 1.21 and later): this one imports nothing but syscall,
// unsafe and package supervisor, which adds only what syscall needs itself, so it comes before almost all others, and does not
// return. It acts only where the environment has [Variable], which grants nothing: who can set it can also make namespaces.
//
// # The conversation on descriptor 3
//
// The server sends the plan: its length as four bytes, little endian, and the bytes of [Plan.Encode]. The helper answers with
// messages of five bytes, a kind and a number; one of [Failed] has a byte of length and as many of text behind it. The end of
// the stream is the death of the helper, and so of every process that came of the command.
package helper

// Variable is the environment variable that makes a program a helper: [Run] has it read a plan and do it, [Try] is for a command
// that only finds out whether it is held.
const (
	Variable = "ORCHESTRA_SANDBOX_HELPER"
	Run      = "run"
	Try      = "try"
)

// Exit statuses of a program that was started with Try.
const (
	Held        = 0  // the file system could not be written, and no process be traced
	NotHeld     = 70 // a step that must fail did not
	Unconnected = 71 // it was held, and could not be connected to a Unix socket of its own
)

// The kinds of messages.
const (
	Failed  = 'E' // a step did, and nothing was started: the error's number, and the step
	Started = 'S' // the command runs: its process id inside
	Ended   = 'X' // it has ended: its wait status
	Linked  = 'L' // a process of it is about to give a file one more name, for the first time
)
