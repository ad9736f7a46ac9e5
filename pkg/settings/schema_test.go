package settings_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// fits reports what the schema says about a file.
func fits(t *testing.T, s *jsonschema.Schema, content string) error {
	t.Helper()
	var value any
	check.OK(t, yaml.Unmarshal([]byte(content), &value))
	return s.Validate(value)
}

func TestSchemaIsInStepWithTheCatalogue(t *testing.T) {
	source := check.Value(settings.Schema())(t)
	document := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(source)))(t)
	compiler := jsonschema.NewCompiler()
	check.OK(t, compiler.AddResource("settings.json", document))
	s := check.Value(compiler.Compile("settings.json"))(t)
	m := newMachine(t)
	agree := func(content string, want bool) {
		t.Helper()
		m.setUser(content)
		_, loadErr := m.tryLoad()
		schemaErr := fits(t, s, content)
		check.That(t, (loadErr == nil) == want && (schemaErr == nil) == want,
			"%s: want %v, loader says %v, schema says %v", content, want, loadErr, schemaErr)
	}
	for _, info := range settings.Keys() {
		value := info.Default
		if info.Example != "" {
			value = "[" + info.Example + "]"
		}
		agree(info.Name+": "+value, true)
		if group, member, nested := strings.Cut(info.Name, "."); nested {
			agree(group+": {"+member+": "+value+"}", true)
			agree(group+": {"+member+"x: "+value+"}", false)
		}
		agree(info.Name+"x: "+value, false)
		agree(info.Name+": {a: b}", false)
	}
	agree(string(settings.Example()), true)
	agree("lock: [sandbox, approvals]", true)
	for _, wrong := range []string{"sandbox: none", "scope.required: maybe", "limits.rate: 1.5", "rules: [{name: r}]", "rules: [{name: r, when: 'true', action: warn}]",
		"hooks: [{event: before, command: x}]", "checks: [{paths: a}]", "commands.deny: [{prefx: rm}]", "commands.deny: [1]", "approvals.wait: true"} {
		agree(wrong, false)
	}
}
