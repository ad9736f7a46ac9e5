package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// Errors of this package, for errors.Is.
var (
	// ErrUnavailable: this machine cannot hold a command at the level. From Start, and in Ability.
	ErrUnavailable = errors.New("the sandbox is not to be had here")
	// ErrMoved: what the profile names was replaced or removed while the command was
	// being started, and nothing was started. It may work the next time.
	ErrMoved = errors.New("files were replaced or removed while the command was being started")
)

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// HelperName is how the first process of a command at Full is called in the process table.
const HelperName = "orchestra-mcp sandbox"

// Start starts cmd, complete but for its boundary, and returns when it runs inside the profile or does not run at all.
// With None, or no level, the profile may be nil. Whether Seatbelt holds here is for the caller to have asked (ProbeSeatbelt).
//
// It must be called inside of Go, and the function given to Go must not return while the command lives: at Landlock the thread itself
// is restricted, for good. Start changes cmd (Path, Args, Env, ExtraFiles, SysProcAttr) as the level needs; cmd.Process is then what
// the caller signals and waits for, and the Held says the rest; it is nil where there is no more to say, which its methods take.
func Start(cmd *exec.Cmd, level Level, profile *Profile) (*Held, error) {
	if profile != nil && len(profile.Layers) > 0 && level != Full {
		return nil, fmt.Errorf("%w: the level %q has no layers", ErrUnavailable, level)
	}
	switch level {
	case None, "":
		return nil, cmd.Start()
	case Seatbelt:
		if seatbeltProgram == "" {
			return nil, errNoSeatbelt
		}
		return startSeatbelt(cmd, profile, seatbeltProgram)
	case Landlock:
		return startLandlock(cmd, profile, Probe().ABI)
	case Full:
		return startFull(cmd, profile, Probe().NoUnix == nil)
	}
	return nil, fmt.Errorf("%w: there is no level %q", ErrUnavailable, level)
}

// Held is a command that Start started. At Full, cmd.Process is the helper, whose death is the death of all that came
// of the command; at the other levels it is the command.
type Held struct {
	ended   chan struct{} // closed when status is known, or cannot be known any more
	gone    chan struct{} // closed when the helper is dead, where there is one
	release func()

	status syscall.WaitStatus
	known  bool
	linked bool
}

// Ended is closed when the command itself has ended, while what it left behind may run on until cmd.Process is killed.
// It is nil where the end of cmd.Process is the end of the command.
func (h *Held) Ended() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.ended
}

// Status is how the command ended, where that is not how cmd.Process did. It is for when Ended is closed.
func (h *Held) Status() (status syscall.WaitStatus, known bool) {
	if h.Ended() == nil {
		return status, false
	}
	<-h.ended
	return h.status, h.known
}

// Linked reports whether a process of the command may have given a file one more name (a hard link): false only at Full, where
// sockets are connected by a supervisor. It is for when Close has returned.
func (h *Held) Linked() bool { return h == nil || h.linked }

// Close takes back what was put into the file system for the command, and what answers for it in this process. It is to
// be called once, when cmd.Process was waited for.
func (h *Held) Close() {
	if h == nil {
		return
	}
	if h.gone != nil {
		<-h.gone
	}
	h.release()
}

// onThread runs f as Go does, and returns what it does.
func onThread[T any](f func() T) T {
	done := make(chan T)
	Go(func() { done <- f() })
	return <-done
}

// Go runs f in a goroutine of its own on an OS thread of its own, which is not
// the process's main one and ends with f: as Start wants it.
func Go(f func()) {
	go func() {
		runtime.LockOSThread()
		if !onMainThread() {
			f() // the thread is never unlocked, so it is not used again
			return
		}
		defer runtime.UnlockOSThread()
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(elsewhere) // the main thread was held until here
			f()
		}()
		<-elsewhere
	}()
}
