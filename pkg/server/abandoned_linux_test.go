package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// What the commands of a killed server have left is ended by the next one, soon after its start or at its end.
func TestServersEndWhatIsAbandoned(t *testing.T) {
	namespace := strings.Trim(check.Value(os.Readlink("/proc/self/ns/pid"))(t), "pid:[]")
	// One after the other: a server ends what any has left.
	for name, ends := range map[string]bool{"after its start": false, "at its end": true} {
		t.Run(name, func(t *testing.T) {
			left := exec.Command("sleep", "60")
			// This process has not begun at that time: who made the marker is gone.
			left.Env = append(os.Environ(), fmt.Sprintf("%s=%s.%d.1.%s", command.MarkerVariable, namespace, os.Getpid(), strings.ReplaceAll(name, " ", "-")))
			check.OK(t, left.Start())
			c := startChild(t, newWorkspace(t))
			defer c.kill()
			if ends {
				check.OK(t, c.in.Close())
				<-c.gone
			}
			_ = left.Wait()
			status, ok := left.ProcessState.Sys().(syscall.WaitStatus)
			check.That(t, ok && status.Signaled(), "it has ended by itself: %v", left.ProcessState)
		})
	}
}
