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
	err := sandbox.TryWorld(false, nil, func(profile *sandbox.Profile, cmd *exec.Cmd) (held *sandbox.Held, err error) {
		started := make(chan bool)
		sandbox.Go(func() {
			held, err = sandbox.Start(cmd, sandbox.Full, profile)
			started <- true
			if err == nil {
				<-held.Ended()
			}
		})
		<-started
		return held, err
	})
	check.That(t, err == nil, "%v", err)
}
