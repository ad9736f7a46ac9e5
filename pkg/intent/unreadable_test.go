package intent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// TestUnreadable lists what makes the file unreadable, with the position and a word of the reason.
func TestUnreadable(t *testing.T) {
	tests := map[string]struct{ at, reason, text string }{
		"not a mapping":       {"1:1", "must be a mapping", "- id: a\n"},
		"scalar":              {"1:1", "must be a mapping", "hello\n"},
		"no list":             {"1:1", "no key active_intents", "active_intent: []\n"},
		"list is text":        {"1:17", "must be a list", "active_intents: none\n"},
		"list is a mapping":   {"2:3", "must be a list", "active_intents:\n  a: b\n"},
		"both lists":          {"2:1", "side by side", "active_intents: []\nintents: []\n"},
		"item is text":        {"2:5", "must be a mapping", "active_intents:\n  - INT-001\n"},
		"no id":               {"2:5", "has no id", "active_intents:\n  - name: a\n    status: TODO\n"},
		"id is a number":      {"2:9", "must be text, not a number", "active_intents:\n  - id: 12\n    status: TODO\n"},
		"id form":             {"2:9", `id "1a"`, "active_intents:\n  - id: 1a\n    status: TODO\n"},
		"id with newline":     {"2:9", `id "a\n"`, "active_intents:\n  - id: \"a\\n\"\n    status: TODO\n"},
		"id too long":         {"2:9", "must be a letter", "active_intents:\n  - id: " + strings.Repeat("a", 65) + "\n"},
		"duplicate id":        {"4:5", "first in line 2", "active_intents:\n  - id: a\n    status: TODO\n  - id: a\n    status: TODO\n"},
		"unknown status":      {"3:13", "SOON", "active_intents:\n  - id: a\n    status: SOON\n"},
		"status is a bool":    {"3:13", "not true or false", "active_intents:\n  - id: a\n    status: true\n"},
		"name is a list":      {"3:11", "name of a must be text, not a list", one("name: [x]")},
		"name is a date":      {"3:11", "not a date", one("name: 2026-01-01")},
		"scope is text":       {"3:18", "owned_scope of a must be a list, not text", one("owned_scope: src/**")},
		"scope is a mapping":  {"3:18", "must be a list", one("owned_scope: {a: b}")},
		"scope of numbers":    {"3:22", "here stands a number", one("owned_scope: [a, 1]")},
		"scope with null":     {"3:19", "here stands nothing", one("owned_scope: [~]")},
		"scope outside":       {"3:22", "leaves the workspace", one("owned_scope: [a, ../b]")},
		"scope absolute":      {"4:9", "absolute", one("owned_scope:\n      - /etc")},
		"scope bad class":     {"3:19", `without "]"`, one("owned_scope: ['[a']")},
		"scope bad brace":     {"3:19", `without "}"`, one("owned_scope: ['{a']")},
		"scope negation":      {"3:19", "no negation", one("owned_scope: ['!a']")},
		"scope empty item":    {"3:19", "empty", one(`owned_scope: [""]`)},
		"scope key spelling":  {"3:5", "owned_scope is meant", one("owned-scope: [a]")},
		"scope key plural":    {"3:5", "owned_scope is meant", one("owned_scopes: [a]")},
		"two spellings":       {"4:5", "two spellings", one("owned_scope: [a]\n    ownedScope: [b]")},
		"time":                {"3:17", "must be a time", one("started_at: yesterday")},
		"commands is a list":  {"3:15", "must be a mapping", one("commands: [go]")},
		"allow is text":       {"3:23", "allow of a must be a list", one("commands: {allow: go}")},
		"network":             {"3:25", "allow or deny", one("commands: {network: maybe}")},
		"rules is a mapping":  {"3:12", "must be a list", one("rules: {a: b}")},
		"rule is text":        {"3:13", "must be a mapping", one("rules: [x]")},
		"rule action":         {"3:40", "refuse or ask", one("rules: [{name: x, when: y, action: warn}]")},
		"rule without when":   {"3:13", "needs name and when", one("rules: [{name: x}]")},
		"verify is text":      {"3:13", "must be a list", one("verify: go test")},
		"duplicate key":       {"3:5", "twice, first in line 2", "active_intents:\n  - id: a\n    id: a\n    status: TODO\n"},
		"duplicate top key":   {"2:1", "twice", "active_intents: []\nactive_intents: []\n"},
		"duplicate unknown":   {"3:1", "twice", "active_intents: []\nx: 1\nx: 2\n"},
		"merge key":           {"3:5", "merge keys", one("<<: {name: b}")},
		"key is a list":       {"3:5", "plain text", one("[a]: b")},
		"second document":     {"2:1", "second YAML document", "active_intents: []\n---\nactive_intents: []\n"},
		"tab":                 {"2:1", "malformed YAML", "active_intents:\n\t- id: a\n"},
		"unclosed flow":       {"3:5", "malformed YAML", one("owned_scope: [a, b")},
		"unclosed quote":      {"3:5", "malformed YAML", one(`name: "a`)},
		"indentation":         {"3:2", "malformed YAML", "active_intents:\n  - id: a\n status: TODO\n"},
		"colon in value":      {"3:5", "malformed YAML", one("name: a: b")},
		"unquoted star":       {"3:5", "must be quoted", one("owned_scope: [*.ts]")},
		"unknown anchor":      {"3:5", "must be quoted", one("owned_scope: *x")},
		"unclosed at the end": {"2:1", "malformed YAML", "active_intents: [\n"},
		"control character":   {"2:3", "control characters", "active_intents: []\n# \x01\n"},
		"not UTF-8":           {"2:3", "UTF-8", "active_intents: []\n# \xff\n"},
		"UTF-16":              {"1:1", "UTF-8", "\xff\xfea\x00:\x00"},
		"tagged":              {"3:11", "tagged !x", one("name: !x y")},
		"binary":              {"3:11", "tagged", one("name: !!binary aGk=")},
		"endless alias":       {"3:12", "aliases expand", "active_intents:\n  - id: a\n    x: &x [*x]\n    status: TODO\n"},
		"alias bomb":          {"", "aliases expand", bomb()},
		"late key":            {"8:2", "in this line or the one before", long(" name: x")},
		"late dash":           {"8:4", "in this line or the one before", long("   name: x")},
		"late tab":            {"8:1", "tab", long("\tname: x")},
		"late quote":          {"8:5", "end of stream", long(`    name: "a`)},
		"late bracket":        {"8:5", "',' or ']'", long("    owned_scope: [a")},
		"late star":           {"8:5", "must be quoted", long("    name: *.ts")},
		"late anchor":         {"8:5", "must be quoted", long("    name: *x")},
		"rule syntax":         {"3:29", `rule "x" of a: in the expression at 1:8: undeclared reference`, one("rules: [{name: x, when: 'tool + efect == tool'}]")},
		"rule type":           {"4:15", "in the expression at 1:6: found no matching overload", one("rules:\n      - when: |-\n          tool ==\n            3\n        name: x")},
		"many rules":          {"", "more than 256 rules", one("rules: [" + strings.Repeat("{name: x, when: 'true'},", 300) + "]")},
		"deep nesting":        {"", "levels", "active_intents: []\nx: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n"},
		"very deep nesting":   {"", "", "x: " + strings.Repeat("[", 100_000)},
		"many values":         {"", "values", "active_intents: []\nx: [" + strings.Repeat("1,", 100_001) + "]\n"},
		"over the size bound": {"0:0", "over 1048576 bytes", "active_intents: []\n#" + strings.Repeat("x", 1<<20) + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, tt.text)
			_, err := w.store.Load()
			var at *intent.UnreadableError
			check.Must(t, errors.Is(err, intent.ErrUnreadable) && errors.As(err, &at), "error %v", err)
			got := fmt.Sprintf("%d:%d", at.Line, at.Column)
			check.That(t, tt.at == "" || got == tt.at, "at %s, want %s: %v", got, tt.at, err)
			check.That(t, strings.Contains(at.Reason, tt.reason) && at.File == ".orchestration/active_intents.yaml", "reason: %v", err)
			_, err = w.store.AddScope(t.Context(), "a", []string{"b"})
			check.That(t, errors.Is(err, intent.ErrUnreadable), "a change of it: %v", err)
			check.That(t, w.intents() == tt.text, "the file was changed")
		})
	}
}

// one is a file with one intent that has these further lines.
func one(lines string) string {
	return "active_intents:\n  - id: a\n    " + lines + "\n    status: TODO\n"
}

// long is a file of some lines whose eighth is given.
func long(line string) string {
	return "# c\nactive_intents:\n  - id: a\n    name: x\n    status: TODO\n  - id: b\n    status: TODO\n" + line +
		"\n    constraints: [a, b]\n    agent: foo\n  - id: c\n    status: TODO\n"
}

// bomb is a small file that expands to more than a billion values.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text + "active_intents: [{id: a, status: TODO, x: *a8}]\n"
}

func TestEmptyFilesDeclareNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "~\n", "active_intents:\n", "active_intents: []\n",
		"intents: null\n"} {
		set := newWorkspace(t, text).load()
		check.That(t, len(set.All()) == 0, "%q: %v", text, set.All())
	}
}

func TestSpecialFilesAreUnreadable(t *testing.T) {
	tests := map[string]func(t *testing.T, file string){
		"directory": func(t *testing.T, file string) { check.OK(t, os.Mkdir(file, 0o755)) },
		"pipe":      makePipe,
		"dangling":  func(t *testing.T, file string) { check.OK(t, os.Symlink("nowhere", file)) },
		"link": func(t *testing.T, file string) {
			check.OK(t, os.WriteFile(filepath.Join(filepath.Dir(file), "../mine.yaml"), []byte(sample), 0o644))
			check.OK(t, os.Symlink("../mine.yaml", file))
		},
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, sample)
			file := filepath.Join(w.dir, ".orchestration/active_intents.yaml")
			check.OK(t, os.Remove(file))
			make(t, file)
			_, err := w.store.Load()
			check.That(t, errors.Is(err, intent.ErrUnreadable) && w.store.Initialized(), "Load: %v", err)
			_, err = w.store.Add(t.Context(), intent.Intent{ID: "x", Status: intent.Todo})
			check.That(t, errors.Is(err, intent.ErrUnreadable), "Add: %v", err)
		})
	}
	t.Run("linked directory", func(t *testing.T) {
		w := newWorkspace(t, sample)
		check.OK(t, os.Rename(filepath.Join(w.dir, ".orchestration"), filepath.Join(w.dir, "other")))
		check.OK(t, os.Symlink("other", filepath.Join(w.dir, ".orchestration")))
		_, err := w.store.Load()
		check.That(t, errors.Is(err, intent.ErrUnreadable), "Load: %v", err)
		check.OK(t, os.Rename(filepath.Join(w.dir, "other"), filepath.Join(w.dir, "another")))
		_, err = w.store.Load()
		check.That(t, errors.Is(err, intent.ErrUnreadable), "Load, where the link leads nowhere: %v", err)
		_, err = w.store.Add(t.Context(), intent.Intent{ID: "x", Status: intent.Todo})
		check.That(t, err != nil, "Add succeeds")
	})
}

// TestSecretsWhereRulesAreUnclear: the clear rules hold; where nothing of a file can be read, all is secret, whatever stands
// in the other.
func TestSecretsWhereRulesAreUnclear(t *testing.T) {
	for name, c := range map[string]struct {
		one, other string
		all        bool
	}{
		"clear":           {"secret:a\n", "secret:b\n", false},
		"a line":          {"secret:a\nwhat: is this\n", "secret:b\n[\n", false},
		"UTF-16":          {"secret:a\n", "\xff\xfes\x00", true},
		"a line, UTF-16":  {"secret:a\nwhat: is this\n", "\xff\xfes\x00", true},
		"UTF-16, a line":  {"\xff\xfes\x00", "secret:b\n[\n", true},
		"too large":       {"secret:a\n[\n", strings.Repeat("# \n", 1<<20), true},
		"no rules at all": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := check.Value(os.OpenRoot(t.TempDir()))(t)
			defer root.Close()
			check.OK(t, errors.Join(root.Mkdir(".orchestration", 0o755), root.WriteFile(".orchestration/.intentignore", []byte(c.one), 0o644), root.WriteFile(".intentignore", []byte(c.other), 0o644)))
			is, digest := intent.Open(root).Secrets()
			check.Must(t, (digest == "") == c.all, "digest %q", digest)
			for path, want := range map[string]bool{"a": true, "b/c\xff": true, "c": c.all} {
				if want = want && c.one != ""; is == nil && want || is != nil && is(path) != want {
					t.Errorf("%q is not secret as it should be", path)
				}
			}
		})
	}
}
