package sandbox

import (
	"os"
	"os/exec"

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
