package intent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

func to[T any](v T) *T { return &v }

// TestEditLayouts makes edits in files of many layouts, and looks at every byte.
func TestEditLayouts(t *testing.T) {
	const head = "active_intents:\n  - id: a # the first\n"
	type texts = []string
	tests := map[string]struct {
		edit          intent.Edit
		before, after string
	}{
		"entries go, stay and come": {
			intent.Edit{OwnedScope: &texts{"new/**", "b", "d", "e"}},
			"    owned_scope: # all\n      # of a\n      - a # one\n      # of b\n      - 'b' # two\n\n      # of c\n      - c\n    name: n\n",
			"    owned_scope: # all\n      # of a\n      - \"new/**\"\n      # of b\n      - 'b' # two\n      - \"d\"\n      - \"e\"\n\n      # of c\n    name: n\n"},
		"entries change places": {
			intent.Edit{OwnedScope: &texts{"b", "a"}},
			"    owned_scope:\n    # of all\n    - a # one\n    # of b\n    - b # two", "    owned_scope:\n    # of all\n    # of b\n    - b # two\n    - a # one"},
		"another text in the place of an entry": {
			intent.Edit{Constraints: &texts{"Use Go", "d"}, OwnedScope: &texts{"x/**", "b"}},
			"    constraints:\n    - |- # why\n      Use Goo\n    # of c\n    - c # c\n    owned_scope: [ a/**, b ] # s\n",
			"    constraints:\n    - \"Use Go\" # why\n    # of c\n    - \"d\" # c\n    owned_scope: [ \"x/**\", b ] # s\n"},
		"all entries go": {
			intent.Edit{Constraints: &texts{}, AcceptanceCriteria: &texts{}},
			"    constraints: # none now\n    # of a\n    - a # one\n    acceptance_criteria: [a, b] # c\n",
			"    constraints: [] # none now\n    # of a\n    acceptance_criteria: [] # c\n"},
		"flow over lines": {
			intent.Edit{OwnedScope: &texts{"a", "d"}},
			"    owned_scope: [\n      a, # one\n      # of b\n      b, # two\n      c\n    ]\n",
			"    owned_scope: [\n      a, \"d\" # one\n      # of b\n    ]\n"},
		"texts": {
			intent.Edit{Name: to("n: 2"), Description: to("Two\nlines\n"), Agent: to("other")},
			"    name: 'n' # c\n    description: one # d\n    agent: bot # e\n",
			"    name: 'n: 2' # c\n    description: | # d\n      Two\n      lines\n    agent: other # e\n"},
		"a text over lines gets shorter": {
			intent.Edit{Description: to("One.\n"), Name: to("# x"), Agent: to("")},
			"    description: | # d\n        Two\n\n        # lines\n\n    # c\n    name: of\n      two lines # e\n    agent: >-\n      f\n",
			"    description: | # d\n      One.\n\n    # c\n    name: \"# x\" # e\n    agent: \"\"\n"},
		"keys come where they belong": {
			intent.Edit{Verify: &texts{"make"}, Constraints: &texts{"c"}, Description: to("a\nb"), Commands: &intent.CommandRules{Deny: texts{"rm"}}},
			"    owned_scope: [s] # s\n\n    # agent\n    agent: x\n    more: 1\n",
			"    description: |-\n      a\n      b\n    owned_scope: [s] # s\n    constraints: [\"c\"]\n\n    # agent\n    agent: x\n" +
				"    commands:\n      deny: [\"rm\"]\n    verify: [\"make\"]\n    more: 1\n"},
		"commands": {
			intent.Edit{Commands: &intent.CommandRules{Allow: texts{"go", "ls"}, Network: "deny"}},
			"    commands: # c\n      allow: [go] # a\n      deny:\n      - rm # why\n      own: 1\n",
			"    commands: # c\n      allow: [go, \"ls\"] # a\n      deny: []\n      network: deny\n      own: 1\n"},
		"anchors and aliases": {
			intent.Edit{Name: to("b"), Constraints: &texts{"d", "e"}},
			"    name: &n !!str a # c\n    description: &d d\n    constraints: [*d]\n",
			"    name: &n !!str b # c\n    description: &d d\n    constraints: [*d, \"e\"]\n"},
	}
	for name, tt := range tests {
		for _, eol := range []string{"\n", "\r\n"} {
			t.Run(name, func(t *testing.T) {
				lines := strings.NewReplacer("\n", eol)
				w := newWorkspace(t, lines.Replace(head+tt.before))
				tt.edit.Version = get(t, w.load(), "a").Version()
				plan, err := w.store.PlanEdit("a", tt.edit)
				check.Must(t, err == nil, "%v", err)
				check.Equal(t, string(plan.After), lines.Replace(head+tt.after))
			})
		}
	}
}

func TestEditKeepsKeyStyle(t *testing.T) {
	for before, after := range map[string]string{
		`{"intents": [{"id": "a", "ownedScope": ["x"], "name": "n"}]}`: `{"intents": [{"id": "a", "ownedScope": ["y"], "acceptanceCriteria": ["c"], "name": "m"}]}`,
		"intents:\n- {id: a, ownedScope: [x], name: n} # c\n":          "intents:\n- {id: a, ownedScope: [\"y\"], acceptanceCriteria: [\"c\"], name: m} # c\n",
		"intents:\n- id: a\n  ownedScope: [x]\n  name: n":              "intents:\n- id: a\n  ownedScope: [\"y\"]\n  acceptanceCriteria: [\"c\"]\n  name: m",
	} {
		w := newWorkspace(t, before)
		plan, err := w.store.PlanEdit("a", intent.Edit{
			Version: get(t, w.load(), "a").Version(), Name: to("m"), OwnedScope: &[]string{"y"}, AcceptanceCriteria: &[]string{"c"},
		})
		check.Must(t, err == nil, "%v", err)
		check.Equal(t, string(plan.After), after)
	}
}

// An edit is of the intent as its author saw it, and says nothing that the file could not.
func TestEditsThatCannotBe(t *testing.T) {
	w := newWorkspace(t, sample)
	version := get(t, w.load(), "INT-001").Version()
	for name, tt := range map[string]struct {
		edit intent.Edit
		want error
	}{
		"no version":   {intent.Edit{Name: to("x")}, intent.ErrChanged},
		"outside":      {intent.Edit{Version: version, OwnedScope: &[]string{"../x"}}, intent.ErrInvalid},
		"no scope":     {intent.Edit{Version: version, OwnedScope: &[]string{}}, intent.ErrInvalid},
		"NUL":          {intent.Edit{Version: version, Description: to("a\x00b")}, intent.ErrInvalid},
		"escape":       {intent.Edit{Version: version, Constraints: &[]string{"\x1b[31m"}}, intent.ErrInvalid},
		"encoding":     {intent.Edit{Version: version, Verify: &[]string{"\xff"}}, intent.ErrInvalid},
		"network":      {intent.Edit{Version: version, Commands: &intent.CommandRules{Network: "maybe"}}, intent.ErrInvalid},
		"command rule": {intent.Edit{Version: version, Commands: &intent.CommandRules{Deny: []string{"a | b"}}}, intent.ErrInvalid},
	} {
		_, err := w.store.PlanEdit("INT-001", tt.edit)
		check.That(t, errors.Is(err, tt.want), "%s: %v", name, err)
	}
	_, err := w.store.PlanEdit("INT-009", intent.Edit{Version: version})
	check.That(t, errors.Is(err, intent.ErrUnknownIntent), "%v", err)
	plan, err := w.store.PlanEdit("INT-001", intent.Edit{Version: version, Name: to("Build Weather API"), Verify: &[]string{"go test ./..."}})
	check.That(t, err == nil && !plan.Changes(), "what it says already: %v", err)
	w.write(".orchestration/active_intents.yaml", strings.Replace(sample, "name: Docs", "name: Other", 1))
	plan, err = w.store.PlanEdit("INT-001", intent.Edit{Version: version, Name: to("x")})
	check.That(t, err == nil && plan.Changes(), "another intent has changed: %v", err)
	w.write(".orchestration/active_intents.yaml", strings.Replace(sample, "agent: builder", "agent: other", 1))
	_, err = w.store.PlanEdit("INT-001", intent.Edit{Version: version, Name: to("x")})
	check.That(t, errors.Is(err, intent.ErrChanged), "the intent has changed: %v", err)
	text := "active_intents:\n- {id: a, commands: {deny: [{prefix: rm, match: [rm x]}]}}\n"
	w = newWorkspace(t, text)
	_, err = w.store.PlanEdit("a", intent.Edit{Version: get(t, w.load(), "a").Version(), Commands: &intent.CommandRules{}})
	check.That(t, errors.Is(err, intent.ErrLayout) && w.intents() == text, "a rule with examples: %v", err)
}
