package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// hooked is a workspace whose hooks are answered, and its user's own directories.
func hooked(t *testing.T) string {
	t.Helper()
	home(t)
	runtime := check.Value(os.MkdirTemp("", "run"))(t) // sockets have short names
	t.Cleanup(func() { _ = os.RemoveAll(runtime) })
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	_, errs, code := run(t, dir, "init", "--yes", "--workspace", dir, "--scope", "src/**")
	check.Must(t, code == exitDone, "%s", errs)
	return dir
}

// answersHooks serves the hooks of a workspace until the test ends.
func answersHooks(t *testing.T, dir string) {
	t.Helper()
	options := check.Value(server.OperatorOptions(dir))(t)
	options.Chosen = newApp(streams{}, systemEnvironment()).chosenIn(dir, func(err error) { t.Error(err) })
	srv := check.Value(server.New(options))(t)
	l := check.Value(hookListener(dir))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.ServeHooks(ctx, l, 0) }()
	t.Cleanup(func() {
		cancel()
		check.NoError(t, <-done)
		check.NoError(t, srv.Close())
	})
}

// told gives an event to `hook`.
func told(t *testing.T, dir, client string, event string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	code = execute(t.Context(), []string{"hook", client}, streams{in: strings.NewReader(event), out: &stdout, err: &stderr}, env)
	return stdout.String(), stderr.String(), code
}

func writing(dir, name, content string) string {
	event, _ := json.Marshal(map[string]any{
		"session_id": "s", "transcript_path": "", "cwd": dir, "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Write",
		"tool_input": map[string]any{"file_path": filepath.Join(dir, name), "content": content}, "tool_use_id": "t" + name,
	})
	return string(event)
}

// What init chose, use changes; what is chosen counts at the next call.
func TestHookAndUse(t *testing.T) {
	dir := hooked(t)
	answersHooks(t, dir)
	out, errs, code := told(t, dir, "claude-code", writing(dir, "src/a.txt", "x\n"))
	check.That(t, code == 0 && out == "", "in scope: %d %s %s", code, out, errs)
	out, _, _ = told(t, dir, "claude-code", writing(dir, "docs/a.md", "x\n"))
	check.That(t, strings.Contains(out, `"deny"`) && strings.Contains(out, "SCOPE_VIOLATION"), "out of scope: %s", out)
	_, errs, code = run(t, dir, "intents", "add", "--name", "Docs", "--scope", "docs/**")
	check.Must(t, code == exitDone, "%s", errs)
	_, errs, code = run(t, dir, "use", "INT-009")
	check.That(t, code == exitUsage && strings.Contains(errs, "there is no intent"), "%d %s", code, errs)
	_, errs, code = run(t, dir, "use", "INT-002")
	check.Must(t, code == exitDone, "%s", errs)
	out, _, _ = told(t, dir, "claude-code", writing(dir, "docs/b.md", "x\n"))
	check.Equal(t, out, "")
	_, _, code = run(t, dir, "use", "--none")
	check.Equal(t, code, exitDone)
	out, _, _ = told(t, dir, "codex", strings.Replace(writing(dir, "src/a.txt", "x\n"), `"Write"`, `"apply_patch"`, 1))
	check.That(t, strings.Contains(out, `"deny"`), "an event that is not understood: %s", out)
}

// Whatever is wrong, the hook says no in the client's form, and what reaches the server is recorded.
func TestHookSaysNo(t *testing.T) {
	dir := hooked(t)
	answersHooks(t, dir)
	denied := func(what, out, errs string, code int) {
		t.Helper()
		check.That(t, strings.Contains(out, `"permissionDecision":"deny"`) || code == 2 && errs != "", "%s: %d %q %q", what, code, out, errs)
	}
	out, errs, code := told(t, dir, "claude-code", "garbage")
	denied("garbage", out, errs, code)
	out, errs, code = told(t, dir, "claude-code", "")
	denied("nothing", out, errs, code)
	out, errs, code = told(t, dir, "claude-code", writing(dir, "src/big.txt", strings.Repeat("x", maxEvent)))
	denied("too much", out, errs, code)
	t.Setenv(command.MarkerVariable, "x")
	out, errs, code = told(t, dir, "claude-code", writing(dir, "src/a.txt", "x\n"))
	denied("a governed command", out, errs, code)
	for _, args := range [][]string{{"exec", "made-up", "--", "true"}, {"use", "INT-001"}} {
		_, errs, code := run(t, dir, args...)
		check.That(t, code != 0 && strings.Contains(errs, "governed"), "%v: %d %s", args, code, errs)
	}
	check.OK(t, os.Unsetenv(command.MarkerVariable))
	_, errs, code = run(t, dir, "exec", "made-up", "--", "true")
	check.That(t, code == exitRefused && strings.Contains(errs, "unknown"), "%d %s", code, errs)
	for strings.Count(out, `"INVALID_ARGUMENTS"`) < 3 { // a refusal's record follows the answer
		out, _, _ = run(t, dir, "log", "--json", "--kind", "decision")
	}
}

// A server does not answer for a directory that was made anew at its workspace's path.
func TestHookOfANewDirectory(t *testing.T) {
	dir := hooked(t)
	answersHooks(t, dir)
	out, _, _ := told(t, dir, "claude-code", writing(dir, "src/a.txt", "x\n"))
	check.Equal(t, out, "")
	check.OK(t, os.Rename(dir, dir+"-old"))
	check.OK(t, os.Mkdir(dir, 0o755))
	conn, err := hookdoor.Find(os.Getenv).Dial(dir)
	if err == nil { // else it has gone as soon as somebody called
		defer conn.Close()
		_, err = conn.Ask(hookdoor.Request{Op: "event", Client: "claude-code", Event: []byte(writing(dir, "src/a.txt", "x\n"))})
	}
	check.That(t, err != nil, "it answers")
	_, err = hookdoor.Find(os.Getenv).Dial(dir)
	check.That(t, errors.Is(err, hookdoor.ErrNobody), "%v", err)
}

// A server that does not answer is answered for, before the client gives up.
func TestHookDoesNotWait(t *testing.T) {
	dir := hooked(t)
	l := check.Value(hookdoor.Find(os.Getenv).Listen(dir))(t)
	defer l.Close()
	var stdout, stderr bytes.Buffer
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	a := newApp(streams{in: strings.NewReader(writing(dir, "src/a.txt", "x\n")), out: &stdout, err: &stderr}, env)
	h := &hookRun{app: a, client: clienthook.ClaudeCode, limit: 10 * time.Millisecond}
	err := h.run(t.Context())
	exit, is := errors.AsType[*exitError](err)
	check.That(t, is && exit.code == 2 && strings.Contains(stderr.String(), "not answered in time"), "%v %s", err, stderr.String())
}

// The narrowest choice counts.
func TestUseByBranch(t *testing.T) {
	dir := hooked(t)
	check.Repository(t, dir)
	for _, id := range []string{"A", "B", "C"} {
		_, errs, code := run(t, dir, "intents", "add", "--name", id, "--scope", id+"/**")
		check.Must(t, code == exitDone, "%s", errs)
	}
	for _, args := range [][]string{{"INT-002"}, {"INT-003", "--branch", "feat/*"}, {"INT-004", "--branch", "feat/special"}} {
		_, errs, code := run(t, dir, append([]string{"use"}, args...)...)
		check.Must(t, code == exitDone, "%s", errs)
	}
	chosenFor := newApp(streams{}, systemEnvironment()).chosenIn(dir, func(err error) { t.Error(err) })
	for branch, want := range map[string]string{"main": "INT-002 false", "feat/x": "INT-003 true", "feat/special": "INT-004 true", "feat/x/y": "INT-002 false"} {
		_, err := gitOutput(t.Context(), dir, "symbolic-ref", "HEAD", "refs/heads/"+branch)
		check.OK(t, err)
		id, byBranch := chosenFor("")
		check.Equal(t, fmt.Sprint(id, " ", byBranch), want, branch)
	}
	_, errs, code := run(t, dir, "use", "--only")
	check.Must(t, code == exitDone, "%s", errs)
	_, err := gitOutput(t.Context(), dir, "symbolic-ref", "HEAD", "refs/heads/main")
	check.OK(t, err)
	id, _ := chosenFor("")
	check.Equal(t, id, "", "several intents, and the only one chosen")
}
