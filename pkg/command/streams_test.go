//go:build unix

package command_test

import (
	"context"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func TestInputAndErrorsApart(t *testing.T) {
	b := newBench(t)
	spec := b.spec("echo bad >&2; cat; printf '\\033[1mred' >&2")
	spec.Input, spec.Apart, spec.Unkept = []byte(strings.Repeat("in\n", 100)), true, true
	r, err := b.runner.Run(context.Background(), spec)
	check.That(t, err == nil && r.Output == string(spec.Input) && r.Errors == "bad\nred" && r.ArtifactID == "", "%v %+v", err, r)
}

// Input that nobody reads, and that a background process keeps open, holds up nothing.
func TestInputUnread(t *testing.T) {
	b := newBench(t)
	for _, line := range []string{"true", "exec <&-; echo x", "sleep 1000 & exit 3", "head -c 1"} {
		spec := b.spec(line)
		spec.Input, spec.Apart = make([]byte, 1<<20), true
		r, err := b.runner.Run(context.Background(), spec)
		check.That(t, err == nil && !r.TimedOut, "%s: %v %+v", line, err, r)
	}
}
