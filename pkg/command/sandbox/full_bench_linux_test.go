package sandbox_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// BenchmarkStart is a command that does nothing, at each level, and with a
// thousand masks. The difference to none is what the level costs.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	profile := &sandbox.Profile{Workspace: dir, Temp: b.TempDir(), Writable: []string{dir}}
	many := *profile
	for i := range 1000 {
		name := fmt.Sprintf("d%d/f%d", i%10, i)
		files(b, dir, name)
		many.Frozen = append(many.Frozen, sandbox.Frozen{Path: filepath.Join(dir, name)})
	}
	absent := *profile
	absent.Frozen = []sandbox.Frozen{{Path: filepath.Join(dir, ".git"), Directory: true}, {Path: filepath.Join(dir, ".intentignore")}}
	alone := *profile
	alone.DenyNetwork = true
	for _, c := range []struct {
		name    string
		level   sandbox.Level
		profile *sandbox.Profile
	}{
		{"none", sandbox.None, nil}, {"landlock", sandbox.Landlock, profile}, {"full", sandbox.Full, profile},
		{"full-no-network", sandbox.Full, &alone}, {"full-absent", sandbox.Full, &absent}, {"full-1000-masks", sandbox.Full, &many},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				cmd.Dir = dir
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				check.OK(b, inThread(cmd, func() (*sandbox.Held, error) { return sandbox.Start(cmd, c.level, c.profile) }))
			}
		})
	}
}
