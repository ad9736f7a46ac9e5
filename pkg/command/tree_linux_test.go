package command_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// sleepSeconds makes the sleeps of one test recognisable among all processes, also those of another run of the tests.
func sleepSeconds(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%d%04d%03d", 1+time.Now().UnixNano()%9_000, os.Getpid()%10_000, sleepCount.Add(1))
}

var sleepCount atomic.Int64

// sleeping returns the processes whose command line holds the number and that are not dead.
func sleeping(t testing.TB, seconds string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check.Must(t, err == nil && len(lines) != 0, "no processes found: %v", err)
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err == nil && strings.Contains(string(text), seconds) {
			found = append(found, line+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

func noneSleeps(t testing.TB, seconds string) {
	t.Helper()
	if left := sleeping(t, seconds); len(left) > 0 {
		t.Errorf("left over:\n%s", strings.Join(left, "\n"))
	}
}

// trees are command lines that leave processes behind; @ stands for a number of seconds.
func trees() map[string]string {
	return map[string]string{
		"child":                "sleep @; true",
		"grandchildren":        "sh -c 'sh -c \"sleep @; true\"; true'; true",
		"background":           "sleep @ & echo gone",
		"background quiet":     "sleep @ >/dev/null 2>&1 & echo gone",
		"nohup disown":         "nohup sleep @ >/dev/null 2>&1 & disown -a; echo gone",
		"setsid":               "setsid sleep @ & echo gone",
		"setsid fork":          "setsid -f sleep @; echo gone",
		"double fork setsid":   "(setsid -f sh -c '(sleep @; true) & (sleep @; true) &' &) ; echo gone",
		"own process group":    "set -m; sleep @ & sleep @ & echo gone",
		"many":                 "for i in $(seq 40); do sleep @ & done; echo gone",
		"ignores signals":      "(trap '' TERM HUP INT; sleep @; sleep @; sleep @) & echo gone",
		"pipeline":             "sleep @ | sleep @ | sleep @; true",
		"cleared env, setsid":  "env -i setsid sh -c 'sleep @; true'; true",
		"cleared env, session": "env -i sh -c 'sleep @ & sleep @'; true",
		"misleading name":      "cp $(command -v sleep) 'x) Z 0 0 0 (y'; './x) Z 0 0 0 (y' @ & echo gone",
		"stopped":              "sh -c 'kill -STOP $$; sleep @' & sleep @",
		"keeps forking":        "f() { while :; do sleep @ & sleep 0.01; done; }; f & setsid -f sh -c 'while :; do sleep @ & sleep 0.01; done' ; sleep 0.1; echo gone",
	}
}

func TestNothingSurvives(t *testing.T) {
	b := newBench(t)
	var group sync.WaitGroup
	for name, line := range trees() {
		seconds := sleepSeconds(t)
		group.Go(func() { b.leavesNothing(name, line, seconds) })
	}
	group.Wait()
}

func (b *bench) leavesNothing(name, line, seconds string) {
	spec := b.spec(strings.ReplaceAll(line, "@", seconds))
	endsItself := strings.HasSuffix(line, "echo gone")
	if !endsItself {
		spec.Timeout = 700 * time.Millisecond
	}
	result, err := b.runner.Run(context.Background(), spec)
	check.That(b, err == nil, "%s: %v", name, err)
	noneSleeps(b.TB, seconds)
	if result.TimedOut == endsItself || (endsItself && result.Output != "gone\n") || len(result.Survivors)+len(result.Warnings) > 0 {
		b.Errorf("%s: %+v", name, result)
	}
}

func TestOneCommandDoesNotKillAnother(t *testing.T) {
	b := newBench(t)
	first := make(chan command.Result)
	go func() {
		result, _ := b.runner.Run(context.Background(), b.spec("(sleep 0.6; echo late) & setsid sh -c 'sleep 0.6; echo later'; wait"))
		first <- result
	}()
	for range 5 {
		b.run("setsid -f sleep 100; sleep 100 & true")
	}
	if result := <-first; result.ExitCode != 0 || !strings.Contains(result.Output, "late\n") || !strings.Contains(result.Output, "later\n") {
		t.Errorf("%+v", result)
	}
}

func TestProcessSubstitutionMayFinish(t *testing.T) {
	b := newBench(t)
	result := b.run("echo text > >(cat; cat >/dev/null)")
	check.That(t, result.Output == "text\n", "output %q", result.Output)
}

// A directory that was swapped for a link is entered where it is now, and one that was deleted not at all.
func TestSwappedDirectoryIsNotEntered(t *testing.T) {
	b := newBench(t)
	inside, outside := filepath.Join(b.dir, "inside"), t.TempDir()
	check.OK(t, os.Mkdir(inside, 0o755))
	open := check.Value(os.Open(inside))(t)
	defer open.Close()
	check.OK(t, os.Rename(inside, inside+".moved"))
	check.OK(t, os.Symlink(outside, inside))
	spec := b.spec("pwd -P; echo mine > file")
	spec.Dir = open
	check.Equal(t, b.runSpec(context.Background(), spec).Output, inside+".moved\n")
	_, err := os.Stat(filepath.Join(outside, "file"))
	check.That(t, err != nil, "the command wrote through the link")
	check.OK(t, os.RemoveAll(inside+".moved"))
	_, err = b.runner.Run(context.Background(), spec)
	check.That(t, errors.Is(err, command.ErrInvalidSpec) && strings.Contains(err.Error(), "was deleted"), "%v", err)
}

// TestAdoptedOrphans runs itself as a process of its own, since adoption is a choice for a whole process.
func TestAdoptedOrphans(t *testing.T) {
	if os.Getenv("COMMAND_TEST_ADOPT") == "" {
		self := exec.Command(os.Args[0], "-test.run=^TestAdoptedOrphans$", "-test.v")
		self.Env = append(os.Environ(), "COMMAND_TEST_ADOPT=1")
		output, err := self.CombinedOutput()
		check.Must(t, err == nil && strings.Contains(string(output), "--- PASS: TestAdoptedOrphans"), "%v\n%s", err, output)
		return
	}
	b := newBench(t)
	runner := check.Value(command.NewRunner(command.Options{AdoptOrphans: true}))(t)
	b.runner = runner
	t.Run("daemon", b.adoptsDaemon)
	t.Run("beside another", b.adoptsBesideAnother)
	t.Run("beside a service", b.adoptsBesideAService)
	zombies := childZombies(t)
	check.That(t, len(zombies) == 0, "not reaped: %v", zombies)
}

// daemon leaves the session, the parent and the environment.
const daemon = "env -i setsid -f sleep @; env -i setsid sh -c 'sleep @ & sleep @ &'; sleep 0.1; echo gone"

func (b *bench) adoptsDaemon(t *testing.T) {
	seconds := sleepSeconds(t)
	check.Equal(t, b.run(strings.ReplaceAll(daemon, "@", seconds)).Output, "gone\n")
	noneSleeps(t, seconds)
}

// adoptsBesideAnother: while another command runs that could have started the daemon, it is spared; then it goes.
func (b *bench) adoptsBesideAnother(t *testing.T) {
	seconds := sleepSeconds(t)
	other, begun := make(chan command.Result), make(chan bool)
	go func() {
		spec := b.spec("echo begun; env -i setsid -f sh -c 'sleep 0.5; touch mine-lived'; for i in $(seq 100); do [ -e mine-lived ] && break; sleep 0.1; done; ls")
		told := false
		spec.Progress = func(string) {
			if !told {
				told = true
				close(begun)
			}
		}
		result, _ := b.runner.Run(context.Background(), spec)
		other <- result
	}()
	<-begun
	b.run(strings.ReplaceAll(daemon, "@", seconds))
	if result := <-other; !strings.Contains(result.Output, "mine-lived") {
		t.Errorf("the daemon of a running command was killed: %+v", result)
	}
	noneSleeps(t, seconds)
}

// adoptsBesideAService: one with a process namespace of its own, which has run for long, cannot have left the daemon.
func (b *bench) adoptsBesideAService(t *testing.T) {
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("there are no namespaces here")
	}
	dir := check.Value(filepath.EvalSymlinks(b.dir))(t)
	service := b.serveSpec(command.Spec{
		Program: []string{"/bin/sh", "-c", "echo ready; read -r line"}, Level: sandbox.Full, Profile: &sandbox.Profile{Workspace: dir, Temp: dir},
	})
	check.Equal(t, check.Value(bufio.NewReader(service.Output).ReadString('\n'))(t), "ready\n")
	b.adoptsDaemon(t)
	check.That(t, service.Result().Signal == "" && syscall.Kill(service.PID(), 0) == nil, "the service is gone")
	service.End()
	<-service.Done()
}

func childZombies(t *testing.T) (zombies []string) {
	t.Helper()
	stats := check.Value(filepath.Glob("/proc/[0-9]*/stat"))(t)
	for _, path := range stats {
		line, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(line[strings.LastIndexByte(string(line), ')')+1:]))
		if fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			zombies = append(zombies, string(line))
		}
	}
	return zombies
}

// TestKilledServer kills a process that runs a command: the shell dies with it, and the next server ends what the command
// has left, by the marker or by the control group.
func TestKilledServer(t *testing.T) {
	if seconds := os.Getenv("COMMAND_TEST_SERVER"); seconds != "" {
		b := newBench(t)
		b.run("setsid -f sleep 7" + seconds + "; (sleep 7" + seconds + " &); exec sleep " + seconds)
		return
	}
	b := newBench(t)
	other := exec.Command("setsid", "sleep", "8"+sleepSeconds(t)) // somebody else's, with a marker that means nothing here
	other.Env = append(os.Environ(), command.MarkerVariable+"=1.2.3.4")
	check.OK(t, other.Start())
	defer other.Wait()
	defer other.Process.Kill()
	seconds, ended := "", []int(nil)
	for range 20 { // any server of this user that starts meanwhile, of another test, may be the one that ends them
		seconds = sleepSeconds(t)
		killServer(t, seconds)
		if ended = b.runner.EndAbandoned(); len(ended) >= 2 {
			break
		}
	}
	check.That(t, len(ended) >= 2, "ended: %v", ended)
	noneSleeps(t, "sleep\x007"+seconds)
	err := other.Process.Signal(syscall.Signal(0))
	check.That(t, err == nil, "somebody else's process is gone: %v", err)
	check.Equal(t, b.run("echo goes on").Output, "goes on\n")
}

// killServer leaves behind what a command of a server had started when the server was killed.
func killServer(t *testing.T, seconds string) {
	server := exec.Command(os.Args[0], "-test.run=^TestKilledServer$")
	server.Env = append(os.Environ(), "COMMAND_TEST_SERVER="+seconds)
	check.OK(t, server.Start())
	waitUntil(t, "the command runs", func() bool {
		return len(sleeping(t, "sleep\x00"+seconds)) > 0 && len(sleeping(t, "sleep\x007"+seconds)) == 2
	})
	check.OK(t, server.Process.Kill())
	server.Wait()
	waitUntil(t, "the command is dead", func() bool { return len(sleeping(t, "sleep\x00"+seconds)) == 0 })
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 6000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain until %s", what)
}
