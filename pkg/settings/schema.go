package settings

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
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
	s := schemaOf(k.typ, k.choices)
	s["description"] = k.doc
	defaults := Defaults()
	if !k.isList() {
		s["description"] = k.doc + " Default: " + encode(k.get(&defaults)) + "."
	}
	return s
}

// schemaOf is what decode takes for a field.
func schemaOf(t reflect.Type, choices []string) schema {
	switch reflect.Zero(t).Interface().(type) {
	case Choice:
		return schema{"enum": choices}
	case time.Duration:
		return schema{"type": []string{"string", "integer"}, "examples": []string{"30s", "5m", "24h"}}
	case Size:
		return schema{"type": []string{"string", "integer"}, "examples": []string{"512KiB", "64MiB", "1GiB"}}
	case []CommandRule:
		item := reflect.TypeFor[CommandRule]()
		return schema{"type": "array", "items": schema{"anyOf": []schema{{"type": "string"}, objectSchema(item)}}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int:
		return schema{"type": "integer"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem(), nil)}
	case reflect.Struct:
		return objectSchema(t)
	}
	return schema{"type": "string"}
}

func objectSchema(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := keyOf(f.Name)
		properties[name] = schemaOf(f.Type, choicesOf(f))
		if f.Tag.Get("required") != "" {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}
