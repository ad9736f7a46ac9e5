package doctor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/doctor"
)

// TestSandboxAbility holds what doctor says against other ways of asking the machine.
func TestSandboxAbility(t *testing.T) {
	o, _ := fresh(t)
	f, found := find(doctor.Run(context.Background(), o), "sandbox", "Landlock")
	if !found {
		t.Fatal("nothing is said of Landlock")
	}
	// unshare(1) does by a program of its own what is tried with a system call.
	if unshare, err := exec.LookPath("unshare"); err == nil {
		possible := exec.Command(unshare, "--user", "--map-root-user", "--mount", "true").Run() == nil
		if said := strings.Contains(f.Message, "user namespaces yes"); said != possible {
			t.Errorf("%q, and unshare says %v", f.Message, possible)
		}
	}
	if list, err := os.ReadFile("/sys/kernel/security/lsm"); err == nil {
		enabled := strings.Contains(string(list), "landlock")
		if said := strings.Contains(f.Message, "Landlock ABI "); said != enabled {
			t.Errorf("%q, and the kernel lists %s", f.Message, list)
		}
	}
	actions, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	if said := strings.Contains(f.Message, "seccomp yes"); err == nil && said != strings.Contains(string(actions), "errno") {
		t.Errorf("%q, and the kernel lists %s", f.Message, actions)
	}
}

func TestSandboxLevels(t *testing.T) {
	denied := fmt.Errorf("operation not permitted")
	for want, a := range map[string]doctor.Ability{
		"full": doctor.NewAbility(nil, 3, true), "landlock": doctor.NewAbility(denied, 1, true), "none": doctor.NewAbility(nil, 0, true),
	} {
		if got := a.Level(); got != want {
			t.Errorf("%v: %s, want %s", a, got, want)
		}
	}
}
