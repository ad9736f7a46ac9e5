package intent_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// saysAll: whoever reads an intent as JSON reads all of it, with the keys of the file.
func saysAll(t *testing.T, content, key string) {
	t.Helper()
	var file struct {
		Intents []map[string]any `yaml:"active_intents"`
	}
	check.OK(t, yaml.Unmarshal([]byte(content), &file))
	text := check.Value(json.Marshal(newWorkspace(t, content).load().All()[0]))(t)
	var read map[string]any
	check.OK(t, json.Unmarshal(text, &read))
	want := check.Value(json.Marshal(file.Intents[0][key]))(t)
	got := check.Value(json.Marshal(read[key]))(t)
	check.That(t, string(got) == string(want), "%s is %s in %s, want %s", key, got, text, want)
}

func TestSchemaIsInStepWithTheFile(t *testing.T) {
	source := check.Value(intent.Schema())(t)
	document := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(source)))(t)
	compiler := jsonschema.NewCompiler()
	check.OK(t, compiler.AddResource("intents.json", document))
	s := check.Value(compiler.Compile("intents.json"))(t)
	fits := func(content string) error {
		var value any
		check.OK(t, yaml.Unmarshal([]byte(content), &value))
		text := check.Value(json.Marshal(value))(t) // a timestamp becomes text, as editors take it
		instance := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
		return s.Validate(instance)
	}
	agree := func(content string, want bool) {
		t.Helper()
		_, loadErr := newWorkspace(t, content).store.Load()
		schemaErr := fits(content)
		check.That(t, (loadErr == nil) == want && (schemaErr == nil) == want,
			"%s: want %v, loader says %v, schema says %v", content, want, loadErr, schemaErr)
	}
	one := func(field string) string { return "active_intents:\n  - id: A\n    status: TODO\n    " + field + "\n" }
	for _, good := range []string{sample, granting, "active_intents: []\n", "intents:\n", `{"activeIntents": []}`, one("ownedScope: [a]"), one("colour: blue"),
		one("status2: x"), one("name:"), "active_intents:\n  - {id: A, status: in-progress}\n", "active_intents:\n  - {id: A, status: Completed}\n",
		"active_intents:\n  - {id: A}\n", "active_intents:\n  - {id: A, status: }\n"} {
		agree(good, true)
	}
	values := map[string]string{"id": "B-1", "status": "DONE", "started_at": "2026-02-18T18:30:00Z", "commands": "{allow: [go], ask: [a], deny: [b], network: deny}",
		"rules": "[{name: r, when: 'true', action: ask, message: m}]", "name": "n", "description": "d", "agent": "a"}
	for _, key := range intent.IntentKeys() {
		value := values[key]
		if value == "" {
			value = "[a]"
		}
		rest := map[string]string{"id": "name: n", "status": "id: A"}[key]
		if rest == "" {
			rest = "id: A, status: TODO"
		}
		agree("active_intents:\n  - {"+rest+", "+key+": "+value+"}\n", true)
		saysAll(t, "active_intents:\n  - {"+rest+", "+key+": "+value+"}\n", key)
		agree("active_intents:\n  - {"+rest+", "+key+": {x: 1, y: [2]}}\n", key == "commands")
		agree("active_intents:\n  - {"+rest+", "+key+": true}\n", false)
	}
	for _, bad := range []string{"x: 1\n", "active_intents: x\n", "active_intents: []\nintents: []\n", "active_intents:\n  - {status: TODO}\n",
		"active_intents:\n  - {id: 'a b', status: TODO}\n", "active_intents:\n  - {id: A, status: SOON}\n", one("commands: {network: maybe}"), one("commands: {allow: go}"),
		one("rules: [{name: r}]"), one("rules: [{name: r, when: 'true', action: warn}]"), one("owned_scope: [1]")} {
		agree(bad, false)
	}
}
