package sandbox_test

import (
	"os/exec"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestProbesPassAtFull runs the probes of Seatbelt where the level full holds: there all of them go as they have to.
func TestProbesPassAtFull(t *testing.T) {
	newWorkspace(t) // or there is no level full
	for _, network := range []bool{false, true} {
		err := passes(network)
		check.That(t, err == nil, "with the network %v: %v", network, err)
	}
}

func passes(network bool) error {
	ended := make(chan bool)
	defer close(ended) // until then the thread that started the helper stays, for the helper dies with it
	return sandbox.TryWorld(network, nil, func(profile *sandbox.Profile, cmd *exec.Cmd) (held *sandbox.Held, err error) {
		started := make(chan bool)
		sandbox.Go(func() {
			held, err = sandbox.Start(cmd, sandbox.Full, profile)
			close(started)
			<-ended
		})
		<-started
		return held, err
	})
}
