// Package helper is the process between a server and a command that is held at
// the level full: the server's own program, started once more.
//
// It is process 1 of new namespaces. It reads a [Plan] from descriptor 3, gives itself the view of the file system that
// the plan describes, gives up every right, starts the command, says so, and waits. What remains when the command has
// ended dies with it. A step that fails is reported, and nothing is started.
//
// # Why there is an init function
//
// The program is started once for each command, and most of what it consists of is not needed for this. Packages are
// initialised in the order of their import paths as far as their imports allow (Go 1.21 and later): this one imports
// nothing but syscall, unsafe and package supervisor, which adds only what syscall needs itself, so it comes before
// almost all others, and does not return. The test binaries of every package that imports this one have the helper that
// way too. It acts only where the environment has [Variable], which grants nothing: who can set it can also make
// namespaces.
//
// # The conversation on descriptor 3
//
// The server sends the plan: its length as four bytes, little endian, and the bytes of [Plan.Encode]. The helper
// answers with messages of six bytes and more: a kind, four bytes of a number, and for 'E' one byte of length and as
// many of text.
//
//	'E'  a step failed: the error's number and the step. Nothing was started.
//	'S'  the command runs; the number is its process id inside
//	'X'  it has ended; the number is its wait status
//
// The end of the stream is the death of the helper, and so of every process that came of the command.
package helper

// Variable is the environment variable that makes a program a helper. Its value is Run or Try.
const Variable = "ORCHESTRA_SANDBOX_HELPER"

// The values of Variable.
const (
	// Run reads a plan and does it.
	Run = "run"
	// Try is for a command that only finds out whether it is held.
	Try = "try"
)

// Exit statuses of a program that was started with Try.
const (
	// Held: the file system could not be written, and no process be traced.
	Held = 0
	// NotHeld: a step that must fail did not.
	NotHeld = 70
	// Unconnected: it was held, and could not be connected to a Unix socket of its own.
	Unconnected = 71
)

// The kinds of messages.
const (
	Failed  = 'E'
	Started = 'S'
	Ended   = 'X'
)
