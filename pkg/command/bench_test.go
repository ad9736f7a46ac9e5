//go:build unix

package command_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// BenchmarkRun and BenchmarkPlain together give the overhead of a command.
func BenchmarkRun(b *testing.B) {
	w := newBench(b)
	for b.Loop() {
		_, err := w.runner.Run(context.Background(), w.spec("true"))
		check.OK(b, err)
	}
}

func BenchmarkPlain(b *testing.B) {
	shell, _, err := command.Shell()
	check.OK(b, err)
	for b.Loop() {
		check.OK(b, exec.Command(shell, "-c", "true").Run())
	}
}
