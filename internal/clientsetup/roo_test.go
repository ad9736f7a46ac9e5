package clientsetup_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

func TestRooModes(t *testing.T) {
	tests := []struct{ name, before string }{
		{"none", ""},
		{"only a comment", "# our modes\n"},
		{"other keys", "other: 1\n"},
		{"an empty list", "customModes: [] # none\nother: 1\n"},
		{"nothing behind the key", "customModes:\n"},
		{"indented list, no final line break", "customModes:\n  - slug: docs\n    name: Docs\n    groups:\n      - read\n      - - edit\n        - fileRegex: \\.md$"},
		{"list at the margin, a key and comments behind it", "# modes\ncustomModes:\n- slug: docs # keep\n  name: \"Docs\"\n  groups: [read]\n\n# the rest\nother:\n  - 1\n"},
		{"block text at the end", "customModes:\n  - slug: docs\n    groups: [read]\n    customInstructions: |-\n      One\n\n      # not a comment\n"},
		{"JSON", "{\n  \"customModes\": [\n    {\"slug\": \"docs\", \"name\": \"D\", \"groups\": [\"read\", [\"edit\", {\"fileRegex\": \"x\"}]]}\n  ]\n}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(".roomodes", test.before)
			p.apply("roo")
			after := p.read(".roomodes")
			var was, is struct {
				CustomModes []map[string]any `yaml:"customModes"`
				Other       any              `yaml:"other"`
			}
			err := errors.Join(yaml.Unmarshal([]byte(test.before), &was), yaml.Unmarshal([]byte(after), &is))
			check.Must(t, err == nil, "%v\n%s", err, after)
			check.Must(t, len(is.CustomModes) == len(was.CustomModes)+1, "modes:\n%s", after)
			mode := is.CustomModes[len(was.CustomModes)]
			groups := mode["groups"].([]any)
			check.That(t, mode["slug"] == "orchestra" && len(groups) == 1 && groups[0] == "mcp", "mode %v", mode)
			is.CustomModes = is.CustomModes[:len(was.CustomModes)]
			left, _ := json.Marshal(was)
			right, _ := json.Marshal(is)
			check.That(t, string(left) == string(right) || len(was.CustomModes) == 0, "the others changed:\n%s\n%s", left, right)
			for line := range strings.Lines(test.before) {
				if line = strings.TrimSuffix(strings.TrimRight(line, "\n"), " [] # none"); !strings.Contains(after, line) {
					t.Errorf("line %q is gone:\n%s", line, after)
				}
			}
			if again := p.plan("roo"); again.Files[1].Action != clientsetup.Unchanged {
				t.Errorf("second run: %s", again.Files[1].Action)
			}
		})
	}
}

func TestHandMadeModesAndAgentsAreKept(t *testing.T) {
	tests := []struct{ client, file, content string }{
		{"roo", ".roomodes", "customModes:\n  - slug: orchestra\n    name: mine\n    groups: [mcp, command]\n"},
		{"roo", ".roomodes", `{"customModes": [{"slug": "orchestra", "groups": ["mcp", ["edit", {"fileRegex": "x"}]]}]}`},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: ['orchestra/*', 'edit']\n---\nmine\n"},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: orchestra/*, edit\n---\nmine\n"},
		{"vscode", ".github/agents/orchestra.agent.md", "mine, without a list of tools\n"},
	}
	for _, test := range tests {
		p := newPlace(t)
		p.write(test.file, test.content)
		plan := p.apply(test.client)
		if !plan.Weakened() || p.read(test.file) != test.content {
			t.Errorf("%s %q: weakened %v, now %q", test.client, test.content, plan.Weakened(), p.read(test.file))
		}
	}
	p := newPlace(t)
	p.write(".github/agents/orchestra.agent.md", "---\r\ntools: ['orchestra/read_file']\r\n---\r\nmine, stricter\r\n")
	if plan := p.apply("vscode"); plan.Weakened() || plan.Files[1].Action != clientsetup.Unchanged {
		t.Errorf("a stricter agent was not accepted: %+v", plan.Files[1])
	}
}

func FuzzRooModes(f *testing.F) {
	for _, seed := range []string{
		"", "customModes:\n", "customModes: []\n", "customModes:\n- slug: a\n  x: |+\n    b\n\n\nother: 1\n", "a: 1\n...\n",
		"---\ncustomModes:\n  - slug: a\n    groups: [read]\n# end", "{\"customModes\": []}", "customModes: &x\n  - slug: a\nb: *x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newPlace(t)
		p.write(".roomodes", text)
		plan, err := clientsetup.New("roo", p.opts)
		if err != nil {
			check.Must(t, errors.Is(err, clientsetup.ErrUnmergeable), "error %v", err)
			return
		}
		after := string(plan.Files[1].Content)
		isJSON := strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), "{")
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); isJSON || strings.HasPrefix(line, "customModes:") {
				continue
			}
			check.Must(t, strings.Contains(after, line), "line %q is gone:\n%s", line, after)
		}
		p.write(".roomodes", after)
		again, err := clientsetup.New("roo", p.opts)
		check.Must(t, err == nil && string(again.Files[1].Content) == after, "second run: %v on\n%s", err, after)
	})
}
