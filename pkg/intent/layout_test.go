package intent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// at is stamp in the file, which has seconds and no zone but UTC.
var at = time.Date(2026, 3, 1, 12, 0, 0, 5, time.FixedZone("x", 3600))

const stamp = "2026-03-01T11:00:00Z"

// TestStatusLayouts changes the status of intent a to IN_PROGRESS in files of many layouts.
func TestStatusLayouts(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"plain": {
			"active_intents:\n- id: a\n  status: TODO\n",
			"active_intents:\n- id: a\n  status: IN_PROGRESS\n  started_at: " + stamp + "\n"},
		"status first": {
			"active_intents:\n  -   status: TODO\n      id: a\n",
			"active_intents:\n  -   status: IN_PROGRESS\n      started_at: " + stamp + "\n      id: a\n"},
		"quoted, no newline at the end": {
			"active_intents:\n  - id: 'a'\n    status: \"PENDING\"  # x",
			"active_intents:\n  - id: 'a'\n    status: \"IN_PROGRESS\"  # x\n    started_at: " + stamp},
		"single quotes, lower case": {
			"intents:\n  - id: a\n    status: 'todo'\n",
			"intents:\n  - id: a\n    status: 'in_progress'\n    started_at: " + stamp + "\n"},
		"dashes elsewhere": {
			"intents:\n  - {id: b, status: in-progress, startedAt: 2026-01-01}\n  - id: a\n    status: todo\n",
			"intents:\n  - {id: b, status: in-progress, startedAt: 2026-01-01}\n  - id: a\n    status: in-progress\n" +
				"    startedAt: " + stamp + "\n"},
		"flow": {
			"active_intents: [{id: a, status: TODO, owned_scope: [x]}]\n",
			"active_intents: [{id: a, status: IN_PROGRESS, started_at: " + stamp + ", owned_scope: [x]}]\n"},
		"JSON": {
			`{"intents": [{"id": "a", "status": "PENDING", "ownedScope": ["x"]}]}`,
			`{"intents": [{"id": "a", "status": "IN_PROGRESS", "startedAt": "` + stamp + `", "ownedScope": ["x"]}]}`},
		"CRLF": {
			"# x\r\nactive_intents:\r\n  - id: a\r\n    status: TODO # y\r\n    name: é\r\n",
			"# x\r\nactive_intents:\r\n  - id: a\r\n    status: IN_PROGRESS # y\r\n    started_at: " + stamp + "\r\n    name: é\r\n"},
		"byte order mark and markers": {
			"\ufeff%YAML 1.1\n---\nactive_intents:\n  - id: a\n    status: TODO\n...\n# end\n",
			"\ufeff%YAML 1.1\n---\nactive_intents:\n  - id: a\n    status: IN_PROGRESS\n    started_at: " + stamp + "\n...\n# end\n"},
		"null started_at": {
			"active_intents:\n  - id: a\n    started_at: ~ # not yet\n    status: TODO\n",
			"active_intents:\n  - id: a\n    started_at: " + stamp + " # not yet\n    status: IN_PROGRESS\n"},
		"empty started_at": {
			"active_intents:\n  - id: a\n    started_at: # not yet\n    status: TODO\n",
			"active_intents:\n  - id: a\n    started_at: " + stamp + " # not yet\n    status: IN_PROGRESS\n"},
		"started before": {
			"active_intents:\n  - id: a\n    started_at: 2026-01-01\n    status: BLOCKED\n",
			"active_intents:\n  - id: a\n    started_at: 2026-01-01\n    status: IN_PROGRESS\n"},
		"value on the next line": {
			"active_intents:\n  - id: a\n    status:\n      TODO\n    name: x\n",
			"active_intents:\n  - id: a\n    status:\n      IN_PROGRESS\n    started_at: " + stamp + "\n    name: x\n"},
		"wide characters before": {
			"active_intents: [{name: \"日本\u2028é\", id: a, status: TODO, x: 日}]\n",
			"active_intents: [{name: \"日本\u2028é\", id: a, status: IN_PROGRESS, started_at: " + stamp + ", x: 日}]\n"},
		"text that looks like a status": {
			"active_intents:\n  - id: a\n    description: |\n      status: TODO\n    status: TODO\n    x: 'status: TODO'\n",
			"active_intents:\n  - id: a\n    description: |\n      status: TODO\n    status: IN_PROGRESS\n    started_at: " +
				stamp + "\n    x: 'status: TODO'\n"},
		"no status": {
			"active_intents:\n  - name: x\n    id: a # y\n    owned_scope: [s]\n",
			"active_intents:\n  - name: x\n    id: a # y\n    started_at: " + stamp + "\n    owned_scope: [s]\n"},
		"empty status": {
			"active_intents:\n  - id: a\n    status: # y\n    name: x\n",
			"active_intents:\n  - id: a\n    status: # y\n    started_at: " + stamp + "\n    name: x\n"},
		"no status, flow": {
			"intents: [{id: a, ownedScope: [x]}]\n", "intents: [{id: a, startedAt: " + stamp + ", ownedScope: [x]}]\n"},
		"no status, JSON": {
			`{"intents": [{"id": "a"}]}`, `{"intents": [{"id": "a", "started_at": "` + stamp + `"}]}`},
		"escapes in quotes": {
			"active_intents:\n  - id: a\n    status: \"\\x54ODO\"\n",
			"active_intents:\n  - id: a\n    status: \"IN_PROGRESS\"\n    started_at: " + stamp + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, tt.before)
			set := check.Value(w.store.SetStatus(t.Context(), "a", intent.InProgress, at))(t)
			in := get(t, set, "a")
			check.That(t, in.Status == intent.InProgress && !in.StartedAt.IsZero(), "%+v", in)
			check.Equal(t, w.intents(), tt.after)
			set, err := w.store.SetStatus(t.Context(), "a", intent.InProgress, at.Add(time.Hour))
			check.That(t, err == nil && w.intents() == tt.after && !get(t, set, "a").StartedAt.After(at),
				"once more: %v\n%s", err, w.intents())
		})
	}
}

func TestVocabularyIsKept(t *testing.T) {
	for word, want := range map[string]string{"PENDING": "COMPLETED", "TODO": "DONE", "pending": "completed", "todo": "done",
		"IN_PROGRESS": "DONE", "in-progress": "done"} {
		w := newWorkspace(t, "active_intents:\n  - id: a\n    status: "+word+"\n")
		check.Value(w.store.SetStatus(t.Context(), "a", intent.Done, at))(t)
		got := w.intents()
		check.That(t, strings.HasSuffix(got, " "+want+"\n"), "%s became %s", word, got)
	}
	w := newWorkspace(t, "active_intents:\n  - {id: a, status: COMPLETED}\n  - {id: b, status: BLOCKED}\n")
	check.Value(w.store.SetStatus(t.Context(), "b", intent.Todo, at))(t)
	got := w.intents()
	check.That(t, strings.Contains(got, "id: b, status: PENDING}"), "%s", got)
}

// TestStatusIsOptional takes intents without a status through all of them and back.
func TestStatusIsOptional(t *testing.T) {
	for name, tt := range map[string]struct{ before, done string }{
		"left out":           {"active_intents:\n  - id: a\n    name: x\n", "active_intents:\n  - id: a\n    status: DONE\n    name: x\n"},
		"empty":              {"active_intents:\n  - id: a\n    status:\n", "active_intents:\n  - id: a\n    status: DONE\n"},
		"null":               {"active_intents:\n  - {id: a, status: ~, name: x}\n", "active_intents:\n  - {id: a, status: DONE, name: x}\n"},
		"empty, flow":        {"active_intents:\n  - {id: a, status: , name: x}\n", "active_intents:\n  - {id: a, status: DONE , name: x}\n"},
		"others have one":    {"intents:\n  - {id: b, status: completed}\n  - id: a\n", "intents:\n  - {id: b, status: completed}\n  - id: a\n    status: completed\n"},
		"camel, and JSON":    {`{"activeIntents": [{"id": "a"}]}`, `{"activeIntents": [{"id": "a", "status": "DONE"}]}`},
		"no line at the end": {"active_intents:\r\n- id: 'a'", "active_intents:\r\n- id: 'a'\r\n  status: DONE"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, tt.before)
			in := get(t, w.load(), "a")
			check.That(t, in.Status == intent.InProgress && in.Status.Selectable(), "%+v", in)
			check.Value(w.store.SetStatus(t.Context(), "a", intent.Done, at))(t)
			check.Equal(t, w.intents(), tt.done)
			for _, status := range []intent.Status{intent.Todo, intent.InProgress, intent.Blocked} {
				set := check.Value(w.store.SetStatus(t.Context(), "a", status, at))(t)
				in = get(t, set, "a")
				check.That(t, in.Status == status, "%s: %+v", status, in)
			}
		})
	}
}

// TestLayoutsThatCannotBeEdited are refused, and the file stays as it is.
func TestLayoutsThatCannotBeEdited(t *testing.T) {
	tests := map[string]struct {
		text  string
		scope bool // can be added to
	}{
		"tags":            {"active_intents:\n  - &one\n    id: a\n    status: !!str &s TODO\n    owned_scope: [!!str s]\n", true},
		"alias":           {"x: &x {id: a, status: TODO, owned_scope: [s]}\nactive_intents: [*x]\n", false},
		"status alias":    {"x: &x TODO\ny: &y [s]\nactive_intents:\n  - id: a\n    status: *x\n    owned_scope: *y\n", true},
		"shared status":   {"active_intents:\n  - id: a\n    status: &s TODO\n    owned_scope: &o [s]\n  - {id: b, status: *s, owned_scope: *o}\n", false},
		"folded status":   {"active_intents:\n  - id: a\n    status: >-\n      TODO\n    owned_scope:\n    - |-\n      s\n", true},
		"unlisted anchor": {"active_intents: &l\n  - id: a\n    status: >-\n      TODO\n    owned_scope:\n    - >-\n      s\ny: *l\n", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, tt.text)
			_, err := w.store.SetStatus(t.Context(), "a", intent.Done, at)
			check.That(t, errors.Is(err, intent.ErrLayout), "SetStatus: %v", err)
			plan, err := w.store.PlanScope("a", []string{"t"})
			check.That(t, errors.Is(err, intent.ErrLayout) != tt.scope, "PlanScope: %v %v", plan, err)
			check.That(t, w.intents() == tt.text, "changed:\n%s", w.intents())
		})
	}
}

func TestScopeLayouts(t *testing.T) {
	const head = "active_intents:\n  - id: a\n    status: TODO\n"
	tests := map[string]struct{ before, after string }{
		"flow":        {"    owned_scope: [a, 'b']  # c\n", "    owned_scope: [a, 'b', \"x/**\", \"y z\"]  # c\n"},
		"flow, comma": {"    owned_scope: [a, b,]\n", "    owned_scope: [a, b, \"x/**\", \"y z\",]\n"},
		"flow over lines, comma": {
			"    owned_scope: [\n      a, # one\n      b, # two\n    ]\n",
			"    owned_scope: [\n      a, # one\n      b, \"x/**\", \"y z\", # two\n    ]\n"},
		"flow over lines, bracket behind": {
			"    owned_scope: [a,\n      b]\n",
			"    owned_scope: [a,\n      b, \"x/**\", \"y z\"]\n"},
		"block": {
			"    owned_scope:\n      - a # one\n\n      # two\n      - \"b\" # b\n\n    name: n\n",
			"    owned_scope:\n      - a # one\n\n      # two\n      - \"b\" # b\n      - \"x/**\"\n      - \"y z\"\n\n    name: n\n"},
		"block at the key's column": {
			"    owned_scope:\n    - a\n    - b\n",
			"    owned_scope:\n    - a\n    - b\n    - \"x/**\"\n    - \"y z\"\n"},
		"no newline at the end": {
			"    owned_scope:\n    -   a\n    -   b",
			"    owned_scope:\n    -   a\n    -   b\n    - \"x/**\"\n    - \"y z\""},
		"alias as item": {
			"    x: &b b\n    owned_scope:\n    - a\n    - *b\n",
			"    x: &b b\n    owned_scope:\n    - a\n    - *b\n    - \"x/**\"\n    - \"y z\"\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, head+tt.before)
			set := check.Value(w.store.AddScope(t.Context(), "a", []string{"x/**", "a", "y z", "x/**"}))(t)
			in := get(t, set, "a")
			check.That(t, slices.Equal(in.OwnedScope, []string{"a", "b", "x/**", "y z"}) && in.Scope().Match("y z/c"), "%q", in.OwnedScope)
			check.Equal(t, w.intents(), head+tt.after)
		})
	}
}

func TestAddScopeToUnrestricted(t *testing.T) {
	for _, scope := range []string{"", "    owned_scope: []\n", "    owned_scope:\n"} {
		w := newWorkspace(t, "active_intents:\n  - id: a\n    status: TODO\n"+scope)
		_, err := w.store.AddScope(t.Context(), "a", []string{"x"})
		check.That(t, errors.Is(err, intent.ErrUnrestricted), "%q: %v", scope, err)
	}
}

func TestAddLayouts(t *testing.T) {
	const block = "- id: n\n  name: N\n  status: TODO\n"
	indent := func(n int, text string) string {
		pad := strings.Repeat(" ", n)
		return pad + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n"+pad), pad)
	}
	tests := map[string]struct{ before, after string }{
		"empty file":   {"", "active_intents:\n" + indent(2, block)},
		"comment only": {"# c", "# c\nactive_intents:\n" + indent(2, block)},
		"start marker": {"---\n# c\n", "---\n# c\nactive_intents:\n" + indent(2, block)},
		"empty list":   {"active_intents: [] # none\n", "active_intents:  # none\n" + indent(2, block)},
		"empty list over lines": {
			"a: 1\nactive_intents: [\n]\nb: 2\n", "a: 1\nactive_intents: \n" + indent(2, block) + "b: 2\n"},
		"null":      {"intents: ~\nx: y\n", "intents: \n" + indent(2, block) + "x: y\n"},
		"nothing":   {"activeIntents:\n# c\n", "activeIntents:\n" + indent(2, block) + "# c\n"},
		"no indent": {"active_intents:\n- id: a\n  status: TODO\nx: y\n", "active_intents:\n- id: a\n  status: TODO\n" + block + "x: y\n"},
		"comment behind": {
			"active_intents:\n    - id: a\n      status: TODO # c\n      # of a\n\n# of x\nx: y\n",
			"active_intents:\n    - id: a\n      status: TODO # c\n      # of a\n" + indent(4, block) + "\n# of x\nx: y\n"},
		"block text at the end": {
			"active_intents:\n  - id: a\n    status: TODO\n    description: |\n      x\n\n      # not a comment\n      - id: b\n\n\nx: y\n",
			"active_intents:\n  - id: a\n    status: TODO\n    description: |\n      x\n\n      # not a comment\n      - id: b\n" +
				indent(2, block) + "\n\nx: y\n"},
		"kept blank lines": {
			"active_intents:\n  - id: a\n    status: TODO\n    description: |+\n      x\n\n\nx: y\n",
			"active_intents:\n  - id: a\n    status: TODO\n    description: |+\n      x\n\n\n" + indent(2, block) + "x: y\n"},
		"text over lines": {
			"active_intents:\n  - id: a\n    status: TODO\n    description: \"x\n\n      y\"\n",
			"active_intents:\n  - id: a\n    status: TODO\n    description: \"x\n\n      y\"\n" + indent(2, block)},
		"text over lines, not indented": {
			"active_intents:\n  - id: a\n    status: TODO\n    description: \"x\ny\"\n",
			"active_intents:\n  - id: a\n    status: TODO\n    description: \"x\ny\"\n" + indent(2, block)},
		"no newline at the end": {
			"active_intents:\n  - id: a\n    status: TODO",
			"active_intents:\n  - id: a\n    status: TODO\n" + indent(2, block)},
		"end marker": {
			"active_intents:\n  - id: a\n    status: TODO\n...\n",
			"active_intents:\n  - id: a\n    status: TODO\n" + indent(2, block) + "...\n"},
		"CRLF": {
			"active_intents:\r\n  - id: a\r\n    status: TODO\r\n",
			"active_intents:\r\n  - id: a\r\n    status: TODO\r\n" + strings.ReplaceAll(indent(2, block), "\n", "\r\n")},
		"other word": {"intents:\n- id: a\n  status: pending\n", "intents:\n- id: a\n  status: pending\n" + strings.Replace(block, "TODO", "pending", 1)},
		"blank lines between": {
			"active_intents:\n  - id: a\n    status: TODO\n\n  - id: b\n    status: TODO\n",
			"active_intents:\n  - id: a\n    status: TODO\n\n  - id: b\n    status: TODO\n\n" + indent(2, block)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, tt.before)
			set := check.Value(w.store.Add(t.Context(), intent.Intent{ID: "n", Name: "N", Status: intent.Todo}))(t)
			get(t, set, "n")
			check.Equal(t, w.intents(), tt.after)
		})
	}
}

func TestAddKeepsKeyStyle(t *testing.T) {
	w := newWorkspace(t, "intents:\n  - id: a\n    status: PENDING\n    ownedScope: [x]\n")
	_, err := w.store.Add(t.Context(), intent.Intent{ID: "b", Status: intent.Done, OwnedScope: []string{"y"},
		AcceptanceCriteria: []string{"z"}, StartedAt: at})
	check.OK(t, err)
	want := "  - id: b\n    status: COMPLETED\n    ownedScope: [\"y\"]\n    acceptanceCriteria: [\"z\"]\n    startedAt: " + stamp + "\n"
	got := w.intents()
	check.That(t, strings.HasSuffix(got, want), "%s", got)
}

func TestAddRefuses(t *testing.T) {
	w := newWorkspace(t, sample)
	for name, in := range map[string]intent.Intent{
		"id":       {ID: "1", Status: intent.Todo},
		"status":   {ID: "x"},
		"scope":    {ID: "x", Status: intent.Todo, OwnedScope: []string{"../y"}},
		"encoding": {ID: "x", Status: intent.Todo, Name: "\xff"},
	} {
		_, err := w.store.Add(t.Context(), in)
		check.That(t, errors.Is(err, intent.ErrInvalid), "%s: %v", name, err)
	}
	for name, in := range map[string]intent.Intent{
		"network": {ID: "x", Status: intent.Todo, Commands: intent.CommandRules{Network: "maybe"}},
		"rule":    {ID: "x", Status: intent.Todo, Rules: []intent.Rule{{Name: "r"}}},
		"action":  {ID: "x", Status: intent.Todo, Rules: []intent.Rule{{Name: "r", When: "true", Action: "warn"}}},
		"when":    {ID: "x", Status: intent.Todo, Rules: []intent.Rule{{Name: "r", When: "tol == 3"}}},
	} {
		_, err := w.store.Add(t.Context(), in)
		check.That(t, err != nil, "%s is accepted", name)
	}
	check.That(t, w.intents() == sample, "the file was changed")
	for _, text := range []string{"active_intents: [{id: a, status: TODO}] # c\n", `{"intents": []}`} {
		w := newWorkspace(t, text)
		_, err := w.store.Add(t.Context(), intent.Intent{ID: "n", Name: "N", Status: intent.Todo})
		check.That(t, errors.Is(err, intent.ErrLayout) && w.intents() == text, "%q: %v", text, err)
	}
}

// TestHostileTexts come back as they were.
func TestHostileTexts(t *testing.T) {
	texts := []string{"a\nb", "a\n", "\n", "\n\na", " a", "a ", "  a\nb", "a\n  b\n\n\n", "# x", "- x", "a: b", "'", `"`, `\`,
		"*x", "&x", "!x", "%x", "@x", "`x", "{", "}", "[", "]", "|", ">", "---", "...", "null", "~", "true", "1", "2026-01-01",
		"<<", "=", "\t", "a\tb", "\ta", "a\r\nb", "\r", "\u0085", "\u2028x", "\ufeff", "\x00", "\x1b[31m", "\x7f", "\u0080",
		"日本", "😀", "\U0010ffff", "\uffff", "x #y", "a\n\tb", strings.Repeat("long ", 100)}
	for _, file := range []string{sample, strings.ReplaceAll(sample, "\n", "\r\n"), "active_intents: []\n"} {
		w := newWorkspace(t, file)
		for _, text := range texts {
			when := "tool == r'''" + strings.NewReplacer("'", "", "\r", "", "\x00", "").Replace(text) + "'''"
			in := intent.Intent{Name: text, Status: intent.Todo, Description: text, Constraints: []string{text, text},
				Rules: []intent.Rule{{Name: "r" + text, When: when, Message: text}}}
			set, id, err := w.store.AddNext(t.Context(), in)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			got := get(t, set, id)
			if got.Name != text || got.Description != text || !slices.Equal(got.Constraints, in.Constraints) ||
				got.Rules[0].When != when {
				t.Errorf("%q came back as %+v", text, got)
			}
		}
		check.That(t, strings.HasPrefix(w.intents(), file[:15]), "the beginning changed")
	}
}
