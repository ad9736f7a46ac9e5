package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/e2e/agents"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

const reason = "The intent INT-007 says no."

// answers are what a hook prints to deny a call, and to have a shell run `touch rewritten`, in each client's form. The event
// they answer is named in what the hook reads.
func answers(client string) (event, deny, rewrite string) {
	switch client {
	case "claude-code", "codex":
		head := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":`
		return "PreToolUse", head + `"deny","permissionDecisionReason":"` + reason + `"}}`, head + `"allow","updatedInput":{"command":"touch rewritten"}}}`
	case "gemini":
		return "BeforeTool", `{"decision":"deny","reason":"` + reason + `"}`,
			`{"decision":"allow","hookSpecificOutput":{"tool_input":{"command":"touch rewritten"}}}`
	case "opencode":
		return "tool.execute.before", `{"deny":"` + reason + `"}`, `{"args":{"command":"touch rewritten"}}`
	}
	return "", "", ""
}

// hook is a program that prints an answer to one event, and nothing to others.
func hook(t *testing.T, event, answer string) []string {
	t.Helper()
	dir := t.TempDir()
	check.Write(t, dir, "answer", answer)
	check.Write(t, dir, "hook.sh", `case $(cat) in *'"`+event+`"'*) cat "$1" ;; esac`)
	return []string{"/bin/sh", filepath.Join(dir, "hook.sh"), filepath.Join(dir, "answer")}
}

func each(t *testing.T, test func(t *testing.T, c agents.Client, p agents.Place)) {
	with(t, agents.Clients(), test)
}

// sample is each for what every client shows in TestGoverned too: the long form has all of them.
func sample(t *testing.T, test func(t *testing.T, c agents.Client, p agents.Place)) {
	all := agents.Clients()
	with(t, all[:check.Rounds(1, len(all))], test)
}

func with(t *testing.T, clients []agents.Client, test func(t *testing.T, c agents.Client, p agents.Place)) {
	for _, c := range clients {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Program(t) // else nothing is made
			test(t, c, agents.NewPlace(t))
		})
	}
}

func exists(p agents.Place, name string) bool {
	_, err := os.Lstat(filepath.Join(p.Workspace, name))
	return err == nil
}

func TestHookDeniesAWrite(t *testing.T) {
	sample(t, func(t *testing.T, c agents.Client, p agents.Place) {
		event, deny, _ := answers(c.Name)
		agents.InstallHook(t, c, p, hook(t, event, deny))
		r := agents.Run(t, c, p, []agents.Turn{agents.Calling(c.Write(filepath.Join(p.Workspace, "denied"), "x\n"))}, c.Trusting...)
		check.Equal(t, len(r.Requests()), 2, "requests")
		check.That(t, !exists(p, "denied"), "the file was written")
		check.That(t, strings.Contains(r.Told(), reason), "the model was not told why: %s", r.Told())
		alone(t, r)
	})
}

func TestHookRewritesACommand(t *testing.T) {
	sample(t, func(t *testing.T, c agents.Client, p agents.Place) {
		event, _, rewrite := answers(c.Name)
		agents.InstallHook(t, c, p, hook(t, event, rewrite))
		r := agents.Run(t, c, p, []agents.Turn{agents.Calling(c.Shell("touch original"))}, c.Trusting...)
		check.Equal(t, len(r.Requests()), 2, "requests")
		check.That(t, exists(p, "rewritten") && !exists(p, "original"), "the model was told: %s", r.Told())
		alone(t, r)
	})
}

func TestWithoutAHookTheCallsPass(t *testing.T) {
	sample(t, func(t *testing.T, c agents.Client, p agents.Place) {
		write := c.Write(filepath.Join(p.Workspace, "written"), "x\n")
		r := agents.Run(t, c, p, []agents.Turn{agents.Calling(write), agents.Calling(c.Shell("touch original"))}, c.Trusting...)
		check.That(t, exists(p, "written") && exists(p, "original"), "%s\n%s", r.Told(), r.Stderr)
		alone(t, r)
	})
}

// alone fails where a run was not.
func alone(t *testing.T, r agents.Result) {
	t.Helper()
	check.Equal(t, r.Code, 0, r.Stderr)
	check.Equal(t, strings.Join(r.Strangers(), " "), "", "hosts it asked for")
}
