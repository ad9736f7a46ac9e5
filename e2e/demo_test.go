package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// demo runs the program's demo in a home of its own.
func demo(t *testing.T, environment []string, arguments ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(program, append([]string{"demo"}, arguments...)...)
	cmd.Dir = home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home}, environment...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDemoPasses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	out, err := demo(t, nil, "--keep", dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range []string{
		"MISSING_OR_INVALID_INTENT", "SCOPE_VIOLATION", "STALE_FILE", "ok   fahrenheit", "agent_trace.jsonl",
		"`src/convert.sh`", "2 files changed", "everything came back as it should",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the demo does not show %q:\n%s", part, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "src", "convert.sh")); err != nil {
		t.Error(err)
	}
	if out, err := demo(t, nil, "--keep", dir); err == nil {
		t.Errorf("a directory that is not empty was used again:\n%s", out)
	}
}

// A demo that cannot fail would show nothing.
func TestDemoNoticesWhatDiffers(t *testing.T) {
	out, err := demo(t, []string{"ORCHESTRA_COMMANDS_DEFAULT=deny"})
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 1 || !strings.Contains(out, "did not go as it should") || !strings.Contains(out, "COMMAND_BLOCKED") {
		t.Errorf("%v\n%s", err, out)
	}
}
