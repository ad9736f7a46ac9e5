package settings

import (
	"encoding/json"
	"reflect"
	"strings"
)

type schema = map[string]any

// Schema returns a JSON Schema (draft 2020-12) of a settings file, for editors. It has every key, dotted and in its group,
// with its type and choices; ranges, and what a rule's condition must be, only Load checks.
func Schema() ([]byte, error) {
	top := schema{lockName: schema{"type": "array", "items": schema{"type": "string"},
		"description": "Keys and groups that no lower tier may weaken. Only in the operator's own files."}}
	for _, k := range catalogue() {
		s := k.schema()
		top[k.name] = s
		if group, member, nested := strings.Cut(k.name, "."); nested {
			if top[group] == nil {
				top[group] = schema{"type": []string{"object", "null"}, "additionalProperties": false, "properties": schema{}}
			}
			top[group].(schema)["properties"].(schema)[member] = s
		}
	}
	return json.MarshalIndent(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of orchestra-mcp",
		"type": []string{"object", "null"}, "additionalProperties": false, "properties": top,
	}, "", "  ")
}

func (k *key) schema() schema {
	s := schemaOf(k.Type, k.choices)
	s["description"] = k.Tag.Get("doc")
	if defaults := Defaults(); !k.isList() {
		s["description"] = k.Tag.Get("doc") + " Default: " + encode(k.get(&defaults)) + "."
	}
	return s
}

// schemaOf is what decode takes for a field.
func schemaOf(t reflect.Type, choices []string) schema {
	switch rule := reflect.TypeFor[CommandRule](); {
	case choices != nil:
		return schema{"enum": choices}
	case t.Kind() == reflect.Slice && t.Elem() == rule:
		return schema{"type": "array", "items": schema{"anyOf": []schema{{"type": "string"}, objectSchema(rule)}}}
	case t.Kind() == reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem(), nil)}
	case t.Kind() == reflect.Struct:
		return objectSchema(t)
	}
	return formOf(t).schema
}

func objectSchema(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, f := range fieldsOf(t) {
		name := keyOf(f.Name)
		properties[name] = schemaOf(f.Type, choicesOf(f))
		if f.Tag.Get("required") != "" {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}
