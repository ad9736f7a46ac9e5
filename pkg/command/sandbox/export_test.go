package sandbox

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/probes"
)

// TryWorld runs some probes, or all, in a world of their own.
func TryWorld(network bool, only []string, start func(*Profile, *exec.Cmd) (*Held, error)) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return tryWorld(network, only, func(w *probes.World, cmd *exec.Cmd) (*Held, error) { return start(worldProfile(w), cmd) }, program)
}

// TrySeatbelt is ProbeSeatbelt by another program than macOS's.
func TrySeatbelt(sandboxExec string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return trySeatbelt(program, sandboxExec)
}

// StartSeatbelt starts a command by another program than macOS's.
func StartSeatbelt(cmd *exec.Cmd, profile *Profile, sandboxExec string) error {
	_, err := startSeatbelt(cmd, profile, sandboxExec)
	return err
}

// SeatbeltProfile is the text for a profile, and its parameters.
func SeatbeltProfile(profile *Profile) (text string, parameters []string, err error) {
	policy, err := seatbeltPolicy(profile)
	if err != nil {
		return "", nil, err
	}
	return policy.Profile()
}

// SpelledOnFolding says whether a path is spelled as the disk spells it, on one that takes letter cases for the same.
func SpelledOnFolding(path string) error {
	d := newDisk()
	d.stat = func(path string) (fs.FileInfo, error) {
		real := "/"
		for name := range strings.SplitSeq(path[1:], "/") {
			entries, err := os.ReadDir(real)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if strings.EqualFold(e.Name(), name) {
					name = e.Name()
					break
				}
			}
			real = filepath.Join(real, name)
		}
		return os.Lstat(real)
	}
	_, err := d.lstat(path)
	return err
}
