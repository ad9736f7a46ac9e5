package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
)

const (
	// bombUser is one whom nobody else uses, so that a bound on the processes of a user is one on the bomb.
	bombUser = 61234
	// bombBound is the outer bound of a bomb, which holds whatever the code under test does.
	bombBound = 900
	// bombLimit is the bound under test.
	bombLimit = 120
)

// sessions is the bomb whose processes end so soon that there need never be many of them at a time.
const sessions = "sessions"

// bombs are command lines that make processes without end, or some of them.
func bombs(some bool) map[string]string {
	all := map[string]string{
		"pipes":           "b() { b | b & }; b; sleep 100", // the shell stays: with it the command would be over
		sessions:          `export F='setsid -f sh -c "$F"; setsid -f sh -c "$F"'; sh -c "$F"`,
		"without an end":  "b() { sleep 100 & b | b; }; b",
		"all in one loop": "while :; do sleep 100 & done 2>/dev/null",
	}
	if some {
		delete(all, "pipes")
		delete(all, "all in one loop")
	}
	return all
}

// TestForkBomb sets off bombs in a process of its own, which the kernel bounds for as long as the test lasts: as a user of
// its own with a limit of processes where the watchdog is tested, and in a control group where groups are. A group only refuses:
// the bomb burns on until its time is over, so without ORCHESTRA_LONG some are enough there.
func TestForkBomb(t *testing.T) {
	if which := os.Getenv("COMMAND_TEST_BOMB"); which != "" {
		setOff(t, which == "some")
		return
	}
	if parent, err := cgroup.Find(); err == nil {
		t.Run("control group", func(t *testing.T) {
			outer := check.Value(parent.New("bombs", bombBound))(t)
			t.Cleanup(func() {
				if err := outer.Remove(); err != nil {
					t.Errorf("the bombs left something: %v", err)
				}
			})
			bombed(t, exec.Command(os.Args[0]), outer, command.ByControlGroup)
		})
	}
	t.Run("watchdog", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Log("as the user of the tests, whose other processes count as well")
			bombed(t, exec.Command(os.Args[0]), nil, "")
			return
		}
		binary := publicCopy(t, os.Args[0])
		cmd := exec.Command(binary)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bombUser, Gid: bombUser}}
		bombed(t, cmd, nil, command.ByWatchdog)
	})
}

// publicCopy copies a program to where every user can run it.
func publicCopy(t *testing.T, program string) string {
	t.Helper()
	dir := check.Value(os.MkdirTemp("", "bomb"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check.OK(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "test")
	check.OK(t, os.WriteFile(path, check.Value(os.ReadFile(program))(t), 0o755))
	return path
}

// bombed runs setOff in a process of its own and looks at what became of the bombs; by is what must have held them, "" for anything.
func bombed(t *testing.T, cmd *exec.Cmd, group *cgroup.Group, by string) {
	t.Helper()
	some := group != nil && !check.Long()
	cmd.Args = append(cmd.Args, "-test.run=^TestForkBomb$")
	cmd.Env = []string{"COMMAND_TEST_BOMB=" + map[bool]string{true: "some", false: "all"}[some], "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=/"}
	cmd.Dir = "/"
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	runtime.LockOSThread()
	leave := func() error { return nil }
	if group != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		leave = check.Value(group.Enter(cmd.SysProcAttr))(t)
	}
	err := cmd.Start()
	check.OK(t, leave())
	runtime.UnlockOSThread()
	if err == nil {
		err = cmd.Wait()
	}
	check.Must(t, err == nil, "%v\n%s", err, out.String())
	seen := 0
	for line := range strings.Lines(out.String()) {
		var b bang
		if json.Unmarshal([]byte(line), &b) != nil || b.Name == "" {
			continue
		}
		seen++
		t.Logf("%s: %v, by %s", b.Name, b.Took.Round(time.Millisecond), b.Result.Limit.By)
		if by == command.ByWatchdog && b.Left > 50 { // the helper's own threads, and what died just now
			t.Errorf("%s: %d tasks are left of the bomb", b.Name, b.Left)
		}
		reached := b.Result.Limit.Reached || b.Name == sessions
		if l := b.Result.Limit; !reached || l.Processes != bombLimit || by != "" && l.By != by || len(b.Result.Survivors) > 0 || len(b.Result.Warnings) == 0 == l.Reached {
			t.Errorf("%+v", b)
		}
	}
	check.Equal(t, seen, len(bombs(some)), "%v", out.String())
}

// bang is what became of a bomb.
type bang struct {
	Name   string
	Took   time.Duration
	Left   int // tasks of the user behind it, the helper's own included
	Result command.Result
}

// setOff sets the bombs off one after the other, in a process that is bounded.
func setOff(t *testing.T, some bool) {
	b := newBench(t)
	runner := check.Value(command.NewRunner(command.Options{AdoptOrphans: true}))(t) // as the server does; else the dead would count for a while
	for name, line := range bombs(some) {
		// The bound is the bomb's own: this process must be able to start threads when it is reached. Where the runner's is
		// lower, it stays.
		spec := b.spec(fmt.Sprintf("ulimit -u %d 2> /dev/null; %s", bombBound+tasksOfUser(os.Getuid()), line))
		begun := time.Now()
		var result command.Result
		for _, patience := range []time.Duration{2 * time.Second, time.Minute} { // on a busy machine it takes the bomb longer
			spec.MaxProcesses, spec.Timeout = bombLimit, patience
			result = check.Value(runner.Run(context.Background(), spec))(t)
			if result.Limit.Reached || name == sessions {
				break
			}
		}
		result.Output = ""
		line := check.Value(json.Marshal(bang{name, time.Since(begun), tasksOfUser(os.Getuid()), result}))(t)
		os.Stdout.WriteString("\n" + string(line) + "\n")
	}
}

// tasksOfUser counts the threads of a user's processes, without those that have ended.
func tasksOfUser(uid int) (tasks int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		if _, state, _ := strings.Cut(string(stat), ") "); state == "" || state[0] == 'Z' || state[0] == 'X' {
			continue
		}
		threads, _ := os.ReadDir(filepath.Join(dir, "task"))
		tasks += len(threads)
	}
	return tasks
}
