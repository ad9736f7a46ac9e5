//go:build unix

package command_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// bench is a workspace with a runner and a store.
type bench struct {
	testing.TB
	dir    string
	open   *os.File
	store  *command.Artifacts
	runner *command.Runner
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	store := command.NewArtifacts(root, ".orchestration/cache/output", 0)
	runner := check.Value(command.NewRunner(command.Options{Artifacts: store}))(t)
	open := check.Value(os.Open(dir))(t)
	t.Cleanup(func() { open.Close() })
	return &bench{TB: t, dir: dir, open: open, store: store, runner: runner}
}

func (b *bench) spec(line string) command.Spec {
	return command.Spec{
		Command: line,
		Dir:     b.open,
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir},
		Timeout: 20 * time.Second,
	}
}

func (b *bench) run(line string) command.Result {
	b.Helper()
	return b.runSpec(context.Background(), b.spec(line))
}

func (b *bench) runSpec(ctx context.Context, spec command.Spec) command.Result {
	b.Helper()
	result, err := b.runner.Run(ctx, spec)
	check.Must(b, err == nil, "run %q: %v", spec.Command, err)
	return result
}

func TestExitCodes(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		line   string
		code   int
		signal string
		output string
	}{
		{"true", 0, "", ""},
		{"exit 3", 3, "", ""},
		{"echo out; echo err >&2; exit 7", 7, "", "out\nerr\n"},
		{"no-such-program-anywhere 2>/dev/null", 127, "", ""},
		{"kill -TERM $$", 128 + 15, "SIGTERM", ""},
		{"kill -KILL $$", 128 + 9, "SIGKILL", ""},
		{"-x 2>/dev/null", 127, "", ""},
		{"cat; echo $?", 0, "", "0\n"},
		{"echo longest #" + strings.Repeat("x", 128<<10-1-len("echo longest #")), 0, "", "longest\n"},
		{"test -t 0 || test -t 1 || echo no terminal; : </dev/tty", 1, "", ""},
		{"for i in 1 2 3; do echo o$i; echo e$i >&2; done", 0, "", "o1\ne1\no2\ne2\no3\ne3\n"},
	} {
		result := b.run(test.line)
		if result.ExitCode != test.code || result.Signal != test.signal {
			t.Errorf("%.80q: exit code %d signal %q, want %d %q", test.line, result.ExitCode, result.Signal, test.code, test.signal)
		}
		check.That(t, test.output == "" || result.Output == test.output, "%.80q: output %q, want %q", test.line, result.Output, test.output)
		if result.TimedOut || result.Cancelled || result.Truncated || len(result.Warnings) > 0 {
			t.Errorf("%.80q: unexpected %+v", test.line, result)
		}
	}
}

func TestInvalidSpecStartsNothing(t *testing.T) {
	b := newBench(t)
	file := check.Value(os.Create(filepath.Join(b.dir, "file")))(t)
	defer file.Close()
	for name, change := range map[string]func(*command.Spec){
		"empty":            func(s *command.Spec) { s.Command = "" },
		"blank":            func(s *command.Spec) { s.Command = " \n\t" },
		"NUL":              func(s *command.Spec) { s.Command = "touch ran\x00" },
		"too long":         func(s *command.Spec) { s.Command = "touch ran #" + strings.Repeat("x", 128<<10) },
		"no directory":     func(s *command.Spec) { s.Dir = nil },
		"file as dir":      func(s *command.Spec) { s.Dir = file },
		"negative timeout": func(s *command.Spec) { s.Timeout = -1 },
		"negative cap":     func(s *command.Spec) { s.OutputCap = -1 },
	} {
		spec := b.spec("touch ran")
		change(&spec)
		if _, err := b.runner.Run(context.Background(), spec); !errors.Is(err, command.ErrInvalidSpec) {
			t.Errorf("%s: error %v, want ErrInvalidSpec", name, err)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.runner.Run(cancelled, b.spec("touch ran")); !errors.Is(err, command.ErrNotStarted) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the start: %v, want ErrNotStarted", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("a refused command ran")
	}
}

func TestEnvironmentIsOnlyWhatWasGiven(t *testing.T) {
	b := newBench(t)
	t.Setenv("LEAKED", "from the server")
	spec := b.spec("env | sort; pwd")
	spec.Env = append(spec.Env, "GIVEN=yes", "PWD=/wrong", "ORCHESTRA_AUTH_TOKEN=steal", command.MarkerVariable+"=forged")
	output := b.runSpec(context.Background(), spec).Output
	for _, unwanted := range []string{"LEAKED", "steal", "forged", "/wrong"} {
		check.That(t, !strings.Contains(output, unwanted), "the command sees %s:\n%s", unwanted, output)
	}
	for _, wanted := range []string{"GIVEN=yes\n", command.MarkerVariable + "="} {
		check.That(t, strings.Contains(output, wanted), "the command does not see %s:\n%s", wanted, output)
	}
}

func TestNoDescriptorOfTheServer(t *testing.T) {
	b := newBench(t)
	leaked := check.Value(syscall.Dup(0))(t) // stays open in children, unlike what package os opens
	defer syscall.Close(leaked)
	if output := b.run("exec ls /dev/fd").Output; output != "0\n1\n2\n3\n" { // 3 is the directory that ls reads
		t.Errorf("descriptors in the command:\n%s", output)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name, line, output, signal string
		code                       int
		cancel                     bool
	}{
		{name: "timeout", line: "echo begun; sleep 1000", output: "begun\n", signal: "SIGTERM", code: 128 + 15},
		{name: "deaf to SIGTERM", line: "trap '' TERM; echo begun; while :; do sleep 1000; done", output: "begun\n", signal: "SIGKILL", code: 128 + 9},
		{name: "cleans up", line: "trap 'echo bye; exit 5' TERM; echo begun; sleep 1000 & wait", output: "begun\nbye\n", code: 5},
		{name: "cancel", line: "echo begun; sleep 1000", output: "begun\n", signal: "SIGTERM", code: 128 + 15, cancel: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			spec := b.spec(c.line)
			if c.cancel {
				spec.Progress = func(string) { cancel() }
			} else {
				spec.Timeout = 2 * time.Second
			}
			r := b.runSpec(ctx, spec)
			if r.Cancelled != c.cancel || r.TimedOut == c.cancel || r.ExitCode != c.code || r.Signal != c.signal || r.Output != c.output {
				t.Errorf("%+v", r)
			}
			check.That(t, (c.cancel || r.Duration >= spec.Timeout) && r.Duration <= time.Minute, "took %v", r.Duration)
		})
	}
}

func TestProgress(t *testing.T) {
	b := newBench(t)
	var chunks []string
	spec := b.spec(`printf 'one\033[1m\n'; until [ -e told ]; do sleep 0.01; done; echo two`)
	spec.Progress = func(chunk string) {
		chunks = append(chunks, chunk)
		os.WriteFile(filepath.Join(b.dir, "told"), nil, 0o600)
	}
	b.runSpec(context.Background(), spec)
	check.That(t, len(chunks) == 2 && chunks[0] == "one\n" && chunks[1] == "two\n", "chunks %q", chunks)
}

func TestSlowProgressDoesNotSlowTheCommand(t *testing.T) {
	b := newBench(t)
	spec := b.spec("head -c 20000000 /dev/zero | tr '\\0' 'x'; echo end")
	var longest int
	spec.Progress = func(chunk string) {
		longest = max(longest, len(chunk))
		time.Sleep(300 * time.Millisecond)
	}
	result := b.runSpec(context.Background(), spec)
	check.Equal(t, result.OutputBytes, 20_000_004)
	check.That(t, longest != 0 && longest <= 16<<10, "longest piece %d", longest)
	check.That(t, result.Duration <= time.Minute, "took %v", result.Duration)
}
