package server_test

import (
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

func (b *bench) commands(session string) []map[string]any {
	b.t.Helper()
	listed, _ := b.ok("list_commands", args{"session": session}).Object["commands"].([]any)
	var commands []map[string]any
	for _, c := range listed {
		commands = append(commands, c.(map[string]any))
	}
	return commands
}

// A command in the background is started, read, listed and ended, with a
// record at its start and one at its end.
func TestBackground(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	r := b.ok("execute_command", args{"session": s, "command": "echo begun; echo x > src/by.txt; trap 'echo asked; exit 3' TERM; while :; do sleep 0.1; done", "background": true})
	id, artifact := r.str("command_id"), r.str("artifact_id")
	check.Must(t, r.Object["running"] == true && r.Object["exit_code"] == nil && strings.Contains(r.str("output"), "begun"), "%v", r.Object)
	b.wantRecord(`"started":true`, id, `"background":true`, r.str("record_id"), `"programs":["echo","trap","exit",":","sleep"]`)
	c := b.commands(s)
	check.That(t, len(c) == 1 && c[0]["command_id"] == id && c[0]["running"] == true, "%v", c)
	read := b.ok("read_command_output", args{"session": s, "artifact_id": artifact})
	check.That(t, strings.Contains(read.str("content"), "begun") && read.Object["running"] == true, "%v", read.Object)
	stopped := b.ok("stop_command", args{"session": s, "command_id": id})
	check.That(t, stopped.Object["exit_code"] == 3.0 && stopped.Object["running"] == false && stopped.str("ended_by") == "stopped by its session",
		"%v", stopped.Object)
	changed, _ := stopped.Object["changed_files"].([]any)
	check.That(t, len(changed) == 1 && changed[0].(map[string]any)["path"] == "src/by.txt", "%v", stopped.Object)
	b.wantRecord(`"path":"src/by.txt"`, `"op":"created"`, stopped.str("record_id"))
	b.wantRecord(`"exit_code":3`, id, `"ended_by":"stopped by its session"`, stopped.str("record_id"), `"output_hash":"sha256:`)
	check.Equal(t, b.ok("stop_command", args{"session": s, "command_id": id}).str("record_id"), stopped.str("record_id"))
	if read := b.ok("read_command_output", args{"session": s, "artifact_id": artifact}); !strings.Contains(read.str("content"), "asked") || read.Object["running"] != false {
		t.Errorf("%v", read.Object)
	}
	b.refused("FILE_NOT_FOUND", "stop_command", args{"session": s, "command_id": "cmd_none"})
}

// What fails at once, or is refused, says so in the answer.
func TestBackgroundThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", commandsYAML)
	b, s := start(t, dir).under("A")
	r := b.ok("execute_command", args{"session": s, "command": "echo oh; exit 7", "background": true})
	check.That(t, r.Object["running"] != true && r.Object["exit_code"] == 7.0 && r.str("output") == "oh\n", "%v", r.Object)
	b.wantRecord(`"exit_code":7`, r.str("command_id"))
	b.refused("COMMAND_BLOCKED", "execute_command", args{"session": s, "command": "git push", "background": true})
	b.refused("APPROVAL_REQUIRED", "execute_command", args{"session": s, "command": "npm publish x", "background": true})
	b.refused("INVALID_ARGUMENTS", "execute_command", args{"session": s, "command": "true", "background": true, "timeout": 86401})
	c := b.commands(s)
	check.That(t, len(c) == 1, "%v", c)
}

// A session sees and ends only what is its own.
func TestBackgroundBelongsToItsSession(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	one, two := b.selects("INT-001"), b.selects("INT-005")
	check.Must(t, one != two, "one session")
	id := b.ok("execute_command", args{"session": one, "command": "sleep 100", "background": true}).str("command_id")
	c := b.commands(two)
	check.That(t, len(c) == 0, "another session sees %v", c)
	b.refused("FILE_NOT_FOUND", "stop_command", args{"session": two, "command_id": id})
	if c := b.commands(one); len(c) != 1 || c[0]["running"] != true {
		t.Errorf("%v", c)
	}
}

// What looks like a secret is in no record and no lesson, and the line that runs has it.
func TestSecretsOfCommandsAreNotRecorded(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", commandsYAML)
	b, s := start(t, dir).under("A")
	r := b.ok("execute_command", args{"session": s, "command": "API_TOKEN=hunter2secret sh -c 'echo $API_TOKEN'"})
	check.Equal(t, r.str("output"), "hunter2secret\n")
	b.refused("COMMAND_BLOCKED", "execute_command", args{"session": s, "command": "git push --token=hunter2secret"})
	b.refused("APPROVAL_REQUIRED", "execute_command", args{"session": s, "command": "npm publish --token=hunter2secret"})
	b.wantRecord("API_TOKEN=[redacted] sh -c", `"redacted":true`)
	b.close()
	all := strings.Join(fileLines(t, dir), "\n")
	check.That(t, !strings.Contains(all, "hunter2"), "a record has the secret:\n%s", all)
}

func fileLines(t *testing.T, dir string) []string {
	t.Helper()
	content := check.Value(os.ReadFile(ledgertest.File(dir)))(t)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}
