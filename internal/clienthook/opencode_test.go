//go:build unix

package clienthook_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// host calls the plugin as OpenCode does, and tells what became of the call.
const host = `
import * as plugin from "./plugin.mjs"
const given = JSON.parse(process.argv[2])
if (Object.keys(plugin).length !== 1) throw new Error("OpenCode takes each export for a plugin")
const hooks = await plugin.Orchestra({ directory: "/work/p" })
const result = { args: given.args, output: { title: "t", output: "said", metadata: { exit: 3 } } }
const call = { tool: given.tool, sessionID: "ses_1", callID: "call_1" }
try {
  if (given.event === "before") await hooks["tool.execute.before"](call, result)
  else if (given.event === "after") await hooks["tool.execute.after"]({ ...call, args: given.args }, result.output)
  else await hooks.event({ event: { type: given.event, properties: { sessionID: "ses_1" } } })
} catch (error) {
  result.thrown = error.message
}
console.log(JSON.stringify(result))
`

type became struct {
	Args   map[string]any
	Output struct{ Output string }
	Thrown string
}

// run calls the plugin of a program: a shell script that has what it is told in the file event.
func run(t *testing.T, script, given string) (became, []byte) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, `a "program" it's`)
	if script != "" {
		check.OK(t, os.WriteFile(program, []byte("#!/bin/sh\n[ \"$*\" = 'hook opencode' ] || exit 9\ncat >\"${0%/*}/event\"\n"+script), 0o755))
	}
	check.Write(t, dir, "plugin.mjs", string(clienthook.OpenCodePlugin(program)))
	check.Write(t, dir, "host.mjs", host)
	node := exec.Command("node", "host.mjs", given)
	node.Dir = dir
	node.Env = append(os.Environ(), "HOME="+dir)
	node.Stderr = os.Stderr
	var result became
	check.OK(t, json.Unmarshal(check.Value(node.Output())(t), &result))
	event, _ := os.ReadFile(filepath.Join(dir, "event"))
	return result, event
}

func TestPlugin(t *testing.T) {
	check.Needs(t, "node")
	const bash = `{"event":"before","tool":"bash","args":{"command":"ls","description":"d"}}`
	for name, c := range map[string]struct{ script, thrown, command string }{
		"allow":        {`echo '{"decision":"allow"}'`, "", "ls"},
		"replace":      {`echo '{"decision":"allow","command":"exec x"}'`, "", "exec x"},
		"deny":         {`echo '{"decision":"deny","reason":"Out of scope"}'`, "Out of scope", "ls"},
		"nothing":      {`exit 0`, "did not allow", "ls"},
		"null":         {`echo null`, "did not allow", "ls"},
		"no JSON":      {`echo hello`, "did not answer", "ls"},
		"a failure":    {`echo '{"decision":"allow"}'; echo broken >&2; exit 1`, "broken", "ls"},
		"its own end":  {`kill -9 $$`, "SIGKILL", "ls"},
		"no program":   {"", "could not be asked", "ls"},
		"half of JSON": {`printf '{"decision":"allow"'`, "did not answer", "ls"},
	} {
		t.Run(name, func(t *testing.T) {
			got, event := run(t, c.script, bash)
			check.That(t, (got.Thrown == "") == (c.thrown == "") && strings.Contains(got.Thrown, c.thrown), "thrown: %q", got.Thrown)
			check.Equal(t, got.Args["command"], any(c.command))
			check.Equal(t, got.Args["description"], any("d"))
			if c.script != "" {
				e, err := clienthook.Parse(clienthook.OpenCode, event)
				check.That(t, err == nil && e.Action == clienthook.Action(clienthook.Command{Line: "ls"}) && e.Session == "ses_1" && e.Call == "call_1" && e.Cwd == "/work/p", "%s: %+v, %v", event, e, err)
			}
		})
	}
}

func TestPluginAfterwards(t *testing.T) {
	check.Needs(t, "node")
	const write = `{"event":"after","tool":"write","args":{"filePath":"a","content":"b"}}`
	got, event := run(t, `echo '{"note":"It differs"}'`, write)
	check.Equal(t, got.Thrown+got.Output.Output, "said\n\nIt differs")
	e, err := clienthook.Parse(clienthook.OpenCode, event)
	check.That(t, err == nil && e.Phase == clienthook.After && *e.Response.ExitCode == 3, "%s: %+v, %v", event, e, err)
	got, _ = run(t, "exit 0", write)
	check.Equal(t, got.Thrown+got.Output.Output, "said")
	got, _ = run(t, "exit 1", write) // what was made stays made, and it is said
	check.That(t, got.Thrown == "" && strings.Contains(got.Output.Output, "not recorded"), "%+v", got)
	for kind, phase := range map[string]clienthook.Phase{"session.idle": clienthook.Idle, "session.deleted": clienthook.End} {
		got, event = run(t, "exit 1", `{"event":"`+kind+`"}`)
		e, err = clienthook.Parse(clienthook.OpenCode, event)
		check.That(t, err == nil && e.Phase == phase && got.Thrown == "", "%s: %s: %v", kind, event, err)
	}
	_, event = run(t, "exit 1", `{"event":"file.edited"}`)
	check.Equal(t, string(event), "")
}
