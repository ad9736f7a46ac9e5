package clientsetup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

func TestMergeKeepsWhatIsThere(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"comments and trailing commas", `{
	// our servers
	"servers": {
		"db": {"command": "db", "args": []}, // the database
	},
	"inputs": [], /* none yet */
}
`, `{
	// our servers
	"servers": {
		"db": {"command": "db", "args": []}, // the database
		"orchestra": {
			"type": "stdio",
			"command": "orchestra-mcp",
			"args": ["serve", "--workspace", "${workspaceFolder}"]
		},
	},
	"inputs": [], /* none yet */
}
`},
		{"comment behind the last one without a comma", `{
  "inputs": [] // none
}
`, `{
  "inputs": [], // none
  "servers": {
    "orchestra": {
      "type": "stdio",
      "command": "orchestra-mcp",
      "args": ["serve", "--workspace", "${workspaceFolder}"]
    }
  }
}
`},
		{"on one line", `{"servers":{"a":{"url":"http://x"}}}`,
			`{"servers":{"a":{"url":"http://x"}, "orchestra": {
      "type": "stdio",
      "command": "orchestra-mcp",
      "args": ["serve", "--workspace", "${workspaceFolder}"]
    }}}`},
		{"an old entry of ours with the operator's own keys", `{
    "servers": {
        "orchestra": {
            "command": "/old/orchestra-mcp",
            "args": ["serve"],
            "env": {"A": "b"}, // mine
            "type": "stdio"
        }
    }
}`, `{
    "servers": {
        "orchestra": {
            "command": "orchestra-mcp",
            "args": ["serve", "--workspace", "${workspaceFolder}"],
            "env": {"A": "b"}, // mine
            "type": "stdio"
        }
    }
}`},
		{"line ends and byte order mark of Windows", "\ufeff{\r\n  \"inputs\": []\r\n}\r\n",
			"\ufeff{\r\n  \"inputs\": [],\r\n  \"servers\": {\r\n    \"orchestra\": {\r\n      \"type\": \"stdio\",\r\n" +
				"      \"command\": \"orchestra-mcp\",\r\n      \"args\": [\"serve\", \"--workspace\", \"${workspaceFolder}\"]\r\n    }\r\n  }\r\n}\r\n"},
		{"empty file", "", "{\n  \"servers\": {\n    \"orchestra\": {\n      \"type\": \"stdio\",\n" +
			"      \"command\": \"orchestra-mcp\",\n      \"args\": [\"serve\", \"--workspace\", \"${workspaceFolder}\"]\n    }\n  }\n}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(".vscode/mcp.json", test.before)
			plan := p.apply("vscode")
			check.That(t, plan.Files[0].Action == clientsetup.Updated, "action %s", plan.Files[0].Action)
			want := test.after
			got := p.read(".vscode/mcp.json")
			check.That(t, got == want, "got\n%s\nwant\n%s", got, want)
			again := p.plan("vscode")
			check.That(t, again.Files[0].Action == clientsetup.Unchanged, "second run: %s", again.Files[0].Action)
			info, err := os.Stat(filepath.Join(p.workspace, ".vscode/mcp.json"))
			check.That(t, err == nil && info.Mode().Perm() == 0o640, "mode %v (%v), want that of the old file", info.Mode(), err)
		})
	}
}

func TestOwnFlagsStay(t *testing.T) {
	p := newPlace(t)
	p.apply("vscode")
	text := strings.Replace(p.read(".vscode/mcp.json"), `"]`, `", "--log-level", "debug"]`, 1)
	p.write(".vscode/mcp.json", text)
	plan := p.apply("vscode")
	check.That(t, plan.Files[0].Action == clientsetup.Unchanged && p.read(".vscode/mcp.json") == text,
		"%s: now\n%s", plan.Files[0].Action, p.read(".vscode/mcp.json"))
}

func TestStrictClientsAreWarnedOfComments(t *testing.T) {
	p := newPlace(t)
	p.write(".claude/settings.json", "{\n  // mine\n}\n")
	plan := p.plan("claude-code")
	check.That(t, len(plan.Warnings) == 1 && strings.Contains(plan.Warnings[0], ".claude/settings.json"), "warnings %q", plan.Warnings)
}

func TestUnmergeableFilesAreLeftAlone(t *testing.T) {
	tests := []struct{ client, file, content, says string }{
		{"vscode", ".vscode/mcp.json", "{ not json", ""},
		{"vscode", ".vscode/mcp.json", "[]", "object"},
		{"vscode", ".vscode/mcp.json", `{"servers": []}`, `"servers"`},
		{"vscode", ".vscode/mcp.json", `{"servers": {"orchestra": "x"}}`, `"servers.orchestra"`},
		{"vscode", ".vscode/mcp.json", `{"servers": {}, "servers": {}}`, `"servers"`},
		{"claude-code", ".claude/settings.json", `{"hooks": []}`, `"hooks"`},
		{"claude-code", ".claude/settings.json", `{"hooks": {}, "hooks": {}}`, `"hooks"`},
		{"codex", ".codex/config.toml", "model = ", ""},
		{"codex", ".codex/config.toml", "mcp_servers = {}\n", ""},
		{"codex", ".codex/config.toml", "[mcp_servers]\norchestra.command = \"x\"\n", ""},
		{"cursor", ".cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": {}}}`, "preToolUse"},
		{"roo", ".roomodes", "customModes:\n  - slug: [\n", ""},
		{"roo", ".roomodes", "customModes: 3\n", ""},
		{"roo", ".roomodes", `{"customModes": 3}`, ""},
	}
	for _, test := range tests {
		p := newPlace(t)
		p.write(test.file, test.content)
		_, err := clientsetup.New(test.client, p.opts)
		check.That(t, errors.Is(err, clientsetup.ErrUnmergeable) && strings.Contains(err.Error(), test.file) && strings.Contains(err.Error(), test.says),
			"%s with %q: error %v, want one that names the file and %s", test.file, test.content, err, test.says)
		got := p.read(test.file)
		check.That(t, got == test.content, "%s was changed to %q", test.file, got)
	}
}

func FuzzMergeJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"servers":{}}`, "{\n \"a\": 1, // x\n}", `{"servers":{"orchestra":{"args":[1,],}}}`, "\ufeff{}", "{/**/}", `{"a":[],"servers":{"b":{}}/*c*/}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newPlace(t)
		p.write(".vscode/mcp.json", text)
		plan, err := clientsetup.New("vscode", p.opts)
		if err != nil {
			check.Must(t, errors.Is(err, clientsetup.ErrUnmergeable), "error %v", err)
			return
		}
		p.write(".vscode/mcp.json", string(plan.Files[0].Content))
		again, err := clientsetup.New("vscode", p.opts)
		check.Must(t, err == nil && again.Files[0].Action == clientsetup.Unchanged, "second run: %v on\n%s", err, plan.Files[0].Content)
	})
}
