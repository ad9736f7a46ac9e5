//go:build unix

package command_test

import (
	"errors"
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestStartedAgain: a command whose box names a file that is replaced while it
// is started runs once, with its output, unless that never ends.
func TestStartedAgain(t *testing.T) {
	for moved, starts := range map[int]int{0: 1, 1: 2, command.StartsAgain: command.StartsAgain + 1, 1000: command.StartsAgain + 1} {
		runner := check.Value(command.NewRunner(command.Options{}))(t)
		dir := check.Value(os.Open(t.TempDir()))(t)
		defer dir.Close()
		tried := runner.MovedAtFirst(moved)
		result, err := runner.Run(t.Context(), command.Spec{Command: "echo out; read line; echo $line", Input: []byte("in\n"), Dir: dir, Unkept: true})
		check.Equal(t, *tried, starts, "%v", moved)
		check.That(t, moved >= starts || err == nil && result.Output == "out\nin\n", "after %d times: %v, %+v", moved, err, result)
		check.That(t, moved < starts || errors.Is(err, sandbox.ErrMoved), "after %d times: %v", moved, err)
	}
}
