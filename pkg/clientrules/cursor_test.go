package clientrules_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// The examples of cursor.com/docs/cli/reference/permissions.
func TestCursorRules(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"home/.cursor/cli-config.json": `{"version":1,"permissions":{"allow":["Shell(ls)","Shell(git)","Shell(curl:-s *)","Read(src/**/*.ts)"],"deny":["Shell(rm)","Read(.env*)"]}}`,
		"ws/.cursor/cli.json":          `{"permissions":{"deny":["Shell(npm:publish*)"]}}`,
	})
	const denied = "rm x\nls && rm x\nsudo rm x\n/bin/rm x\nnpm publish x\nsh -c 'rm x'"
	m.want(clienthook.Cursor, lines{deny: denied, unknown: "ls\nmake"})
	m.write(map[string]string{"home/.cursor/permissions.json": `{"terminalAllowlist":["ls","git status",], /* c */}`, "ws/.cursor/permissions.json": `{"terminalAllowlist":["curl"]}`})
	m.want(clienthook.Cursor, lines{deny: denied, allow: "ls\nls -la\ngit status x\ncurl -s x | ls", none: "make\ngit push\ncurl x\nls > x\nls $x\n/bin/ls\nnpm test"})
}
