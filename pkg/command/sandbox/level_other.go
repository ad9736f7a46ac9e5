//go:build !linux

package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"
)

func unsupported() error {
	return fmt.Errorf("%w: only Linux has it, and this is %s", ErrUnavailable, runtime.GOOS)
}

func tryLandlock() (abi int, err error) { return 0, unsupported() }

func startLandlock(*exec.Cmd, *Profile, int) (*Held, error) { return nil, unsupported() }

func trySockets() bool { return false }

func trySignals(int) bool { return false }

func tryFull() (noFull, noUnix error) { return unsupported(), nil }

func startFull(*exec.Cmd, *Profile, bool) (*Held, error) { return nil, unsupported() }

// Exposed is nothing: there is no level that hides anything here.
func Exposed(Level, *Profile) []string { return nil }

// Sweep has nothing to do: there is no Full here.
func Sweep([]Frozen) {}

func onMainThread() bool { return false }
