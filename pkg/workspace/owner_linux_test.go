package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// TestLockThatOutlivesItsProcess: a process was killed when it had just made a child, which has the lock of its sign of
// life until it becomes another program. What the process left goes all the same.
func TestLockThatOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".orchestration/active_intents.yaml"), "")
	left := ".orchestration/state/tmp/.orchestra-AAAAAAAAAA-1234567890.tmp"
	put(t, filepath.Join(dir, left), "left")
	killed := exec.Command("true")
	must(t, killed.Run())
	sign := filepath.Join(dir, ".orchestration/state/tmp/AAAAAAAAAA.owner")
	put(t, sign, fmt.Sprintf("process %d %s\n", killed.Process.Pid, durable.Place()))
	child, err := os.Open(sign)
	must(t, err)
	if locked, err := durable.TryLock(child); err != nil || !locked {
		t.Fatal(locked, err)
	}
	time.AfterFunc(50*time.Millisecond, func() { child.Close() })
	a, err := openAt(t, dir).Abandoned()
	must(t, err)
	a.Sweep(nil)
	must(t, a.Close())
	found, _ := os.ReadDir(filepath.Dir(sign))
	check.That(t, len(found) == 0, "left: %v", found)
}
