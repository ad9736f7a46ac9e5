package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Limits that hold where a Spec or the Options say nothing.
const (
	// DefaultTimeout ends a command whose Spec names no time limit.
	DefaultTimeout = 120 * time.Second
	// DefaultOutputCap is how many bytes of output are kept as an artifact.
	DefaultOutputCap = 64 << 20
	// DefaultMaxProcesses is how many processes a command can have at a time.
	DefaultMaxProcesses = 2048
	// OutputLimit is how many characters Result.Output has at most, the note about what was left out included.
	OutputLimit = 30_000
	// maxCommandBytes is one less than Linux takes for a single argument with its final NUL.
	maxCommandBytes = 128<<10 - 1
)

// Spec is one command to run.
type Spec struct {
	// Command is the line for the shell of Shell, at most 131,071 bytes, without NUL.
	Command string

	// Program is a program, by an absolute path, and its arguments, which run in place of Command without a shell.
	Program []string

	// Dir is the open directory to start in. It stays the caller's, and must stay open until Run has returned. On
	// Linux the descriptor decides; elsewhere its name does, and Run refuses if that is not the same directory any more.
	Dir *os.File

	// Env is the whole environment as KEY=value; nothing is inherited. FilterEnv makes it from the server's own.
	// PWD and OLDPWD are left to the shell, and variables that begin with ORCHESTRA_ are dropped.
	Env []string

	// Level is how the command is held to Profile; sandbox.None, or none, holds nothing. What is below it does not run: if the
	// boundary cannot be made, Run returns an error.
	Level   sandbox.Level
	Profile *sandbox.Profile

	// Input is what standard input holds; without any it is empty. A command need not read it.
	Input []byte

	// Apart keeps standard error out of Output and gives it in Result.Errors.
	Apart bool

	// Through are the command's own input and outputs, which stay the caller's: it reads and writes them by itself, and the Result has
	// nothing of what it printed. Nil: they are pipes of ours.
	Through *Through

	// Owner is whose output the artifact is, see Artifacts.For.
	Owner string

	// Artifact is the id that the artifact gets, see NewArtifactID; "" makes one.
	Artifact string

	// Unkept makes no artifact.
	Unkept bool

	// Timeout ends the command; 0 is DefaultTimeout. The caller bounds it.
	Timeout time.Duration

	// Started, if set, is called once the shell runs, with the id of the artifact, which can be read from then on; "" if none is kept.
	Started func(artifactID string)

	// MaxProcesses is how many processes the command can have at a time; 0 is what the Options say. Result.Limit says how it
	// was held to it.
	MaxProcesses int

	// OutputCap is how many bytes the artifact keeps; 0 is DefaultOutputCap. More is read, counted, hashed and shown
	// in the tail, but not kept.
	OutputCap int64

	// Progress, if set, gets the output while it comes, cleaned like Result.Output, in pieces of at most 16 KiB and at
	// most ten times a second; output that comes faster is skipped and the piece says how much. The calls are not
	// concurrent, and there is none after Run has returned, so Run waits for a call that does not return.
	Progress func(chunk string)
}

// Through are the standard streams of a command.
type Through struct {
	In, Out, Err *os.File
	// Terminal: In is a terminal that no session has, and becomes that of the command's, so that what is typed can interrupt it.
	Terminal bool
}

// Result is what became of a command that was started. A failing command, a timeout and a cancellation are results.
type Result struct {
	// ExitCode is the shell's exit status, or 128 plus the number of the signal that ended it.
	ExitCode int
	// Signal names the signal that ended the shell ("SIGKILL"), empty if it exited by itself.
	Signal string
	// TimedOut: Spec.Timeout was over and the command was ended for it.
	TimedOut bool
	// Cancelled: the context ended first and the command was ended for it.
	Cancelled bool
	// Duration is from the start until nothing was left of the command.
	Duration time.Duration

	// Output is the whole output if it has at most OutputLimit characters, else its head and tail around a note that
	// says how much is missing. It is valid UTF-8, with lines that end in \n and without terminal control sequences.
	Output string
	// Errors is standard error in the same form, where Spec.Apart asked for it. It is in no count, hash or artifact.
	Errors string
	// Truncated: Output is not the whole.
	Truncated bool
	// OutputBytes counts what the command printed, kept or not.
	OutputBytes int64
	// OutputHash is "sha256:" and the hash of all bytes printed, kept or not.
	OutputHash string

	// ArtifactID names the kept output in Artifacts; empty if none could be kept (Warnings says why).
	ArtifactID string
	// ArtifactBytes is how much is kept there; less than OutputBytes when a cap was reached.
	ArtifactBytes int64

	// Single: no process of the command gave a file one more name (a hard link). False is also that nobody knows.
	Single bool
	// Limit is how the command was held to Spec.MaxProcesses.
	Limit Limit
	// Left: with Spec.Through, what the shell left running did not end soon, and was ended.
	Left bool
	// Survivors are the process ids that could not be killed, because they run under another user or in a state that
	// takes no signal. Empty is the rule.
	Survivors []int
	// Warnings are sentences for the agent about what did not go as promised.
	Warnings []string
}

// Limit is a bound on the processes of a command.
type Limit struct {
	// Processes is the bound. With a control group threads count as well.
	Processes int
	// By is what holds it: "cgroup" (the kernel refuses more), "watchdog" (they are looked for, and more end the command)
	// or "" (nothing).
	By string
	// Reached: the command wanted more.
	Reached bool
}

// What holds a Limit.
const (
	ByControlGroup = "cgroup"
	ByWatchdog     = "watchdog"
)

// validate refuses what the shell or the system call would refuse later and less clearly.
func (s *Spec) validate() error {
	if err := s.validateCommand(); err != nil {
		return err
	}
	switch {
	case s.Dir == nil:
		return fmt.Errorf("%w: no directory to start in", ErrInvalidSpec)
	case s.Timeout < 0:
		return fmt.Errorf("%w: the timeout %v is negative", ErrInvalidSpec, s.Timeout)
	case s.MaxProcesses < 0:
		return fmt.Errorf("%w: the number of processes %d is negative", ErrInvalidSpec, s.MaxProcesses)
	case s.OutputCap < 0:
		return fmt.Errorf("%w: the output cap %d is negative", ErrInvalidSpec, s.OutputCap)
	}
	info, err := s.Dir.Stat()
	if err != nil {
		return fmt.Errorf("%w: the directory to start in: %v", ErrInvalidSpec, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a directory", ErrInvalidSpec, s.Dir.Name())
	}
	return nil
}

func (s *Spec) validateCommand() error {
	switch {
	case len(s.Program) > 0 && s.Command != "":
		return fmt.Errorf("%w: there is both a command and a program", ErrInvalidSpec)
	case len(s.Program) > 0 && !filepath.IsAbs(s.Program[0]):
		return fmt.Errorf("%w: the program %q has no absolute path", ErrInvalidSpec, s.Program[0])
	case slices.ContainsFunc(s.Program, func(word string) bool { return strings.ContainsRune(word, 0) }):
		return fmt.Errorf("%w: an argument has a NUL byte", ErrInvalidSpec)
	case len(s.Program) > 0:
		return nil
	case strings.TrimSpace(s.Command) == "":
		return fmt.Errorf("%w: the command is empty", ErrInvalidSpec)
	case strings.ContainsRune(s.Command, 0):
		return fmt.Errorf("%w: the command has a NUL byte", ErrInvalidSpec)
	case len(s.Command) > maxCommandBytes:
		return fmt.Errorf("%w: the command has %d bytes, at most %d are possible; write a script file and run that",
			ErrInvalidSpec, len(s.Command), maxCommandBytes)
	}
	return nil
}
