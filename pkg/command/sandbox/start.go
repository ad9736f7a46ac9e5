package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
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
// With None, or no level, the profile may be nil.
//
// It must be called inside of Go, and the function given to Go must not return while the command lives: at Landlock the
// thread itself is restricted, for good. Start changes cmd (Path, Args, Env, ExtraFiles, SysProcAttr) as the level
// needs; cmd.Process is then what the caller signals and waits for, and the Held says the rest; it is nil where there
// is no more to say, which its methods take.
func Start(cmd *exec.Cmd, level Level, profile *Profile) (*Held, error) {
	if profile != nil && len(profile.Layers) > 0 && level != Full {
		return nil, fmt.Errorf("%w: the level %q has no layers", ErrUnavailable, level)
	}
	switch level {
	case None, "":
		return nil, cmd.Start()
	case Landlock:
		return startLandlock(cmd, profile, Probe().ABI)
	case Full:
		return startFull(cmd, profile, Probe().NoUnix == nil)
	}
	return nil, fmt.Errorf("%w: there is no level %q", ErrUnavailable, level)
}
