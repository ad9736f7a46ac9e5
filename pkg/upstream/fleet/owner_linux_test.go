package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// ownIfOwner makes the test binary a process that has a fleet, and is killed: it says which process its server is, and waits.
func ownIfOwner() {
	if len(os.Args) < 4 || os.Args[1] != "own" {
		return
	}
	runner, err := command.NewRunner(command.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f := fleet.Open(fleet.Options{
		Definitions: []definition{is("one", "stubborn")}, Workspace: os.Args[2], UserDir: filepath.Join(os.Getenv("HOME"), "user"), Environ: os.Environ(),
		Profiles: profile.New(os.Args[2], os.Environ()), Runner: runner, Sandbox: sandbox.Want{Off: os.Args[3] == "off"},
	})
	fmt.Println(f.Start(context.Background(), "one"), f.States()[0].PID)
	bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

// TestKilled: a server that is killed leaves none of its servers running, at the level full at once, else with the next server.
func TestKilled(t *testing.T) {
	for _, sandboxed := range []string{"off", "best"} {
		if level, _ := (sandbox.Want{}).Level(); sandboxed == "best" && level != sandbox.Full {
			continue
		}
		dir, binary := programDir()
		owner := exec.Command(filepath.Join(dir, binary), "own", directory(t), sandboxed)
		owner.Env = []string{"HOME=" + directory(t), "PATH=" + dir + ":/usr/bin:/bin"}
		input, output := check.Value(owner.StdinPipe())(t), check.Value(owner.StdoutPipe())(t)
		check.OK(t, owner.Start())
		said := check.Value(bufio.NewReader(output).ReadString('\n'))(t)
		var first int
		check.Value(fmt.Sscanf(said, "<nil> %d", &first))(t)
		left := below(first)
		check.Must(t, len(left) >= 2, "%v", left)
		check.OK(t, owner.Process.Kill())
		_ = owner.Wait()
		input.Close()
		if sandboxed == "off" {
			check.Value(command.NewRunner(command.Options{}))(t).EndAbandoned()
		}
		y := newYard(t)
		y.until("the end of all", func() bool { return !slices.ContainsFunc(left, alive) })
	}
}

// below are a process and its descendants.
func below(pid int) []int {
	all := []int{pid}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(text)) {
			var child int
			fmt.Sscan(field, &child)
			all = append(all, below(child)...)
		}
	}
	return all
}

// alive reports whether a process runs, and is no zombie.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
