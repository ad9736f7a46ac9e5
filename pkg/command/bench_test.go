//go:build unix

package command_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// BenchmarkRun and BenchmarkPlain together give the overhead of a command.
func BenchmarkRun(b *testing.B) {
	w := newBench(b)
	for b.Loop() {
		if _, err := w.runner.Run(context.Background(), w.spec("true")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	shell, _, err := command.Shell()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := exec.Command(shell, "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
