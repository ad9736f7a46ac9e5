package agents

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/scripted"
)

// OpenCode is OpenCode, whose hooks are a plugin in its process. The plugin that InstallHook leaves asks the program of the
// hook: it gives it {"event", "tool", "sessionID", "callID", "args"} and takes {"deny": reason} or {"args": {…}}.
func OpenCode() Client {
	return Client{
		Client: scripted.OpenCode(),
		Program: func(t testing.TB) []string {
			return []string{installed(t, "opencode-linux-"+arch(), "bin", "opencode")}
		},
		Hooked: []string{"tool.execute.before", "tool.execute.after"},
		Shell: func(command string) Call {
			return Call{Name: "bash", Input: object{"command": command, "description": "Run it"}}
		},
		Edit: func(path, old, new string) Call {
			return Call{Name: "edit", Input: object{"filePath": path, "oldString": old, "newString": new}}
		},
		Read:    func(path string) Call { return Call{Name: "read", Input: object{"filePath": path}} },
		prepare: func(t testing.TB, p Place) { Seed(t, filepath.Join(p.Home, "config", "opencode")) },
		install: func(t testing.TB, p Place, c Client, argv []string) {
			words, err := json.Marshal([]any{argv, c.Hooked})
			if err != nil {
				t.Fatal(err)
			}
			write(t, strings.Replace(openCodePlugin, "WORDS", string(words), 1), p.Home, "config", "opencode", "plugins", "hook.js")
		},
	}
}

// Seed makes a directory of OpenCode's configuration one for which it has fetched already what it fetches for plugins.
func Seed(t testing.TB, dir string) {
	t.Helper()
	write(t, object{"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": "*"}}}}, dir, "package-lock.json")
	write(t, "", dir, "node_modules", ".keep")
}

const openCodePlugin = `import { spawnSync } from "node:child_process";

const [[program, ...args], events] = WORDS;

const hook = (event) => async (input, output) => {
  const asked = { event, args: output.args, ...input, output: event.endsWith("after") ? output : undefined };
  const run = spawnSync(program, args, { input: JSON.stringify(asked), encoding: "utf8" });
  if (run.status !== 0) throw new Error("the hook failed: " + (run.error ?? run.stderr));
  const answer = JSON.parse(run.stdout || "{}");
  if (answer.deny) throw new Error(answer.deny);
  Object.assign(output.args ?? {}, answer.args);
};

export const Hook = async () => Object.fromEntries(events.map((event) => [event, hook(event)]));
`
