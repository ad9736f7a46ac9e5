package command_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestFilesReplacedAtTheStart: a tool or an editor replaces a file in scope, as
// both do to save, while commands are started whose box names that file.
func TestFilesReplacedAtTheStart(t *testing.T) {
	if sandbox.Probe().Level != sandbox.Full {
		t.Log("this machine has no level full")
		return
	}
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	file, temp := filepath.Join(dir, "shared.txt"), t.TempDir()
	replace := func() {
		if err := os.WriteFile(file+".new", []byte("content\n"), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Error(err)
		}
	}
	replace()
	runner := check.Value(command.NewRunner(command.Options{}))(t)
	opened := check.Value(os.Open(dir))(t)
	defer opened.Close()
	stop := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond): // faster than anybody saves
				replace()
			}
		}
	})
	for range 20 {
		result, err := runner.Run(t.Context(), command.Spec{
			Command: "echo by the command >> " + file + " || true", Dir: opened, Unkept: true,
			Level: sandbox.Full, Profile: &sandbox.Profile{Workspace: dir, Temp: temp, Writable: []string{file}},
		})
		if err != nil {
			t.Error(err)
		} else if result.ExitCode != 0 {
			t.Errorf("%+v", result)
		}
	}
	close(stop)
	replacing.Wait()
}
