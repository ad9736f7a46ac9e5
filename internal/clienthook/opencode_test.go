//go:build unix

package clienthook_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// host calls plugins as OpenCode does, and tells what became of the calls. All are in one process, which is slow to start.
const host = `
import { readFileSync } from "node:fs"
const results = {}
for (const [name, given] of Object.entries(JSON.parse(readFileSync("given.json", "utf8")))) {
  const plugin = await import("./" + name + "/plugin.mjs")
  if (Object.keys(plugin).length !== 1) throw new Error("OpenCode takes each export for a plugin")
  const hooks = await plugin.Orchestra({ directory: "/work/p" })
  const { event, tool, args } = given
  const call = { tool, sessionID: "ses_1", callID: "call_1" }
  const result = (results[name] = { args, output: { title: "t", output: "said", metadata: { exit: 3 } } })
  try {
    if (event === "before") await hooks["tool.execute.before"](call, result)
    else if (event === "after") await hooks["tool.execute.after"]({ ...call, args }, result.output)
    else await hooks.event({ event: { type: event, properties: { sessionID: "ses_1" } } })
  } catch (error) {
    result.thrown = error.message
  }
}
console.log(JSON.stringify(results))
`

// called is a call, and the shell script that the plugin asks about it.
type called struct{ given, script string }

type became struct {
	Args   map[string]any
	Output struct{ Output string }
	Thrown string
	event  []byte // what the script was told
}

func run(t *testing.T, calls map[string]called) map[string]became {
	t.Helper()
	check.Needs(t, "node")
	dir := t.TempDir()
	given := map[string]json.RawMessage{}
	limits := map[string]string{"slow": "1"}
	for name, c := range calls {
		given[name] = json.RawMessage(c.given)
		program := filepath.Join(dir, name, `a "program" it's`)
		start := []string{program}
		if name == "replace" || name == "note" { // as by npx
			start = append(start, "-y", `it's "two" words`)
		}
		check.Write(t, dir, name+"/plugin.mjs", strings.Replace(string(clienthook.OpenCodePlugin(start...)), "20_000", cmp.Or(limits[name], "20_000"), 1))
		if c.script != "" {
			check.OK(t, os.WriteFile(program, []byte("#!/bin/sh\n[ \"$*\" = 'hook opencode' ] || [ \"$# $2\" = \"4 it's \\\"two\\\" words\" ] || exit 9\ncat >\"${0%/*}/event\"\n"+c.script), 0o755))
		}
	}
	check.Write(t, dir, "host.mjs", host)
	check.Write(t, dir, "given.json", string(check.Value(json.Marshal(given))(t)))
	node := exec.Command("node", "host.mjs")
	node.Dir = dir
	node.Env = append(os.Environ(), "HOME="+dir)
	node.Stderr = os.Stderr
	results := map[string]became{}
	check.OK(t, json.Unmarshal(check.Value(node.Output())(t), &results))
	for name, result := range results {
		result.event, _ = os.ReadFile(filepath.Join(dir, name, "event"))
		results[name] = result
	}
	return results
}

func TestPlugin(t *testing.T) {
	cases := map[string]struct{ script, thrown, command string }{
		"allow":   {`echo '{"decision":"allow"}'`, "", "ls"},
		"replace": {`echo '{"decision":"allow","command":"exec x"}'`, "", "exec x"},
		"deny":    {`echo '{"decision":"deny","reason":"Out of scope"}'`, "Out of scope", "ls"},
		"nothing": {`exit 0`, "did not allow", "ls"},
		"null":    {`echo null`, "did not allow", "ls"},
		"no-json": {`echo hello`, "did not answer", "ls"},
		"fails":   {`echo '{"decision":"allow"}'; echo broken >&2; exit 1`, "broken", "ls"},
		"killed":  {`kill -9 $$`, "SIGKILL", "ls"},
		"absent":  {"", "did not answer", "ls"},
		"slow":    {`exec sleep 600`, "nothing in", "ls"},
		"half":    {`printf '{"decision":"allow"'`, "did not answer", "ls"},
	}
	calls := map[string]called{}
	for name, c := range cases {
		calls[name] = called{`{"event":"before","tool":"bash","args":{"command":"ls","description":"d"}}`, c.script}
	}
	for name, got := range run(t, calls) {
		c := cases[name]
		check.That(t, (got.Thrown == "") == (c.thrown == "") && strings.Contains(got.Thrown, c.thrown), "%s: thrown: %q", name, got.Thrown)
		check.Equal(t, got.Args["command"], any(c.command), name)
		check.Equal(t, got.Args["description"], any("d"), name)
		if c.script != "" && name != "slow" {
			e, err := clienthook.Parse(clienthook.OpenCode, got.event)
			check.That(t, err == nil && e.Action == clienthook.Action(clienthook.Command{Line: "ls"}) && e.Session == "ses_1" && e.Call == "call_1" && e.Cwd == "/work/p", "%s: %s: %+v, %v", name, got.event, e, err)
		}
	}
}

func TestPluginAfterwards(t *testing.T) {
	const write = `{"event":"after","tool":"write","args":{"filePath":"a","content":"b"}}`
	got := run(t, map[string]called{
		"note": {write, `echo '{"note":"It differs"}'`}, "none": {write, "exit 0"}, "fails": {write, "exit 1"},
		"idle": {`{"event":"session.idle"}`, "exit 1"}, "end": {`{"event":"session.deleted"}`, "exit 1"}, "else": {`{"event":"file.edited"}`, "exit 1"},
	})
	for name, want := range map[string]string{"note": "said\n\nIt differs", "none": "said", "idle": "said", "end": "said", "else": "said"} {
		check.Equal(t, got[name].Thrown+got[name].Output.Output, want, name)
	}
	// What was made stays made, and it is said.
	check.That(t, got["fails"].Thrown == "" && strings.Contains(got["fails"].Output.Output, "not recorded"), "%+v", got["fails"])
	e, err := clienthook.Parse(clienthook.OpenCode, got["note"].event)
	check.That(t, err == nil && e.Phase == clienthook.After && *e.Response.ExitCode == 3, "%s: %+v, %v", got["note"].event, e, err)
	for name, phase := range map[string]clienthook.Phase{"idle": clienthook.Idle, "end": clienthook.End} {
		e, err = clienthook.Parse(clienthook.OpenCode, got[name].event)
		check.That(t, err == nil && e.Phase == phase, "%s: %s: %v", name, got[name].event, err)
	}
	check.Equal(t, string(got["else"].event), "")
}
