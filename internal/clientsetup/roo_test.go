package clientsetup_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// TestHandMadeModesAndAgentsAreLeft: a file of modes or an agent that is there stays as it is; it is kept, which is told, where
// it lets more through than ours, or is not seen to let no more through.
func TestHandMadeModesAndAgentsAreLeft(t *testing.T) {
	const kept, fine, docs = clientsetup.Kept, clientsetup.Unchanged, "slug: docs, name: D, roleDefinition: D, groups: [read]"
	for _, test := range []struct {
		client, file, content string
		action                clientsetup.Action
	}{
		{"roo", ".roomodes", "customModes:\n  - slug: orchestra\n    name: mine\n    groups: [mcp, command]\n", kept},
		{"roo", ".roomodes", `{"customModes": [{"slug": "orchestra", "groups": ["mcp", ["edit", {"fileRegex": "x"}]]}]}`, kept},
		{"roo", ".roomodes", "customModes: [{" + docs + "}]\n", kept},
		{"roo", ".roomodes", "customModes: []\n", kept},
		{"roo", ".roomodes", "# our modes\n", kept},
		{"roo", ".roomodes", "customModes: [{" + docs + "}, {slug: orchestra, name: O, roleDefinition: O, groups: [mcp]}]\n", fine},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: ['orchestra/*', 'edit']\n---\nmine\n", kept},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: orchestra/*, edit\n---\nmine\n", kept},
		{"vscode", ".github/agents/orchestra.agent.md", "mine, without a list of tools\n", kept},
		{"vscode", ".github/agents/orchestra.agent.md", "mine\ntools: ['orchestra/*']\n", kept},
		{"vscode", ".github/agents/orchestra.agent.md", "---\nname: x\n---\ntools: ['orchestra/*']\n", kept},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: ['orchestra/*', 'read', 'search']\n---\n", kept},
		{"vscode", ".github/agents/orchestra.agent.md", "---\r\nname: Mine\r\ntools: ['orchestra/*']\r\n---\r\nmine\r\n", fine},
	} {
		p := newPlace(t)
		p.write(test.file, test.content)
		plan := p.apply(test.client)
		last := plan.Files[len(plan.Files)-1]
		check.That(t, last.Action == test.action && plan.Weakened() == (test.action == kept) && p.read(test.file) == test.content,
			"%s %q: %+v, now %q", test.client, test.content, last.Detail, p.read(test.file))
		plan = p.remove(test.client)
		check.That(t, p.read(test.file) == test.content, "%s %q: removal made %q", test.client, test.content, p.read(test.file))
	}
}
