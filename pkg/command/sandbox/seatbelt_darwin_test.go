package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestSeatbeltHolds runs the trial that comes before the first command: each probe has to go as it must, without the network and with it.
func TestSeatbeltHolds(t *testing.T) {
	check.OK(t, sandbox.ProbeSeatbelt())
}

// TestSeatbeltInTheHome: the probes have to hold where temporary files usually are, and in the home.
func TestSeatbeltInTheHome(t *testing.T) {
	dir, err := os.MkdirTemp(check.Value(os.UserHomeDir())(t), ".orchestra-try-")
	check.OK(t, err)
	defer os.RemoveAll(dir)
	t.Setenv("TMPDIR", dir)
	check.OK(t, sandbox.TrySeatbelt("/usr/bin/sandbox-exec"))
}

// TestSeatbeltRunsTools: what agents run every day works, and git cannot be given an alias, a hook or another configuration.
func TestSeatbeltRunsTools(t *testing.T) {
	root, temp := canonical(t), canonical(t)
	outside := exec.Command("/bin/sh", "-c", "git init -q . && mkdir .orchestration && printf 'package main\nfunc main() { println(1) }\n' >main.go && printf 'module m\n' >go.mod")
	outside.Dir = root
	out, err := outside.CombinedOutput()
	check.Must(t, err == nil, "%v\n%s", err, out)
	at := func(name string) string { return filepath.Join(root, name) }
	profile := &sandbox.Profile{Workspace: root, Writable: []string{root}, Temp: temp, DenyNetwork: true}
	for name, directory := range map[string]bool{
		".git/hooks": true, ".git/config": false, ".git/config.worktree": false, ".git/commondir": false, ".git/modules": true, ".orchestration": true, ".mcp.json": false,
	} {
		profile.Frozen = append(profile.Frozen, sandbox.Frozen{Path: at(name), Directory: directory})
	}
	goroot := check.Value(exec.LookPath("go"))(t)
	for line, works := range map[string]bool{
		"ls -la / >/dev/null && cat main.go | grep -c main":                                         true,
		"git add main.go && git -c user.name=a -c user.email=a@b commit -qm m && git log --oneline": true,
		"git status --short":           true,
		"go build -o prog . && ./prog": true,
		"go test ./...":                true,
		"/usr/bin/python3 -c 'import multiprocessing as m; m.Lock()'":            true,
		"sleep 9 & kill $! && wait":                                              true,
		"mkdir -p a/b && mv a c && rm -r c && ln -s main.go l && rm l && mktemp": true,
		"git config alias.x '!touch /tmp/x'":                                     false,
		"echo x >.git/hooks/pre-commit":                                          false,
		"mv .git g":                                                              false,
		"echo {} >.MCP.json":                                                     false,
		"echo x >/tmp/orchestra-out":                                             false,
		"echo x >~/orchestra-out":                                                false,
		"curl -sS --max-time 5 https://example.com":                              false,
		"osascript -e 'tell application \"System Events\" to count processes'":   false,
		"/usr/bin/open -g -b com.apple.TextEdit":                                 false,
		"sandbox-exec -p '(version 1)(allow default)' /usr/bin/true":             false,
		"security find-generic-password -a nobody -s nothing || security show-keychain-info login.keychain-db": false,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // what is let through could wait for somebody at the screen
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/bash", "-c", line)
		cmd.Dir = root
		cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin:" + filepath.Dir(goroot), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + temp, "GOCACHE=" + temp + "/go", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local"}
		output := &tail{}
		cmd.Stdout, cmd.Stderr = output, output
		err := sandbox.StartSeatbelt(cmd, profile, "/usr/bin/sandbox-exec")
		check.OK(t, err)
		err = cmd.Wait()
		check.That(t, (err == nil) == works, "%s: %v\n%s", line, err, output.text)
	}
}

// tail keeps what a command printed.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	return len(p), nil
}
