package settings

import (
	"encoding/json"
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
	s := schemaOf(k.empty())
	if len(k.choices) > 0 {
		s = schema{"enum": k.choices}
	}
	s["description"] = k.doc
	defaults := Defaults()
	if !k.isList() {
		s["description"] = k.doc + " Default: " + encode(k.get(&defaults)) + "."
	}
	return s
}

// schemaOf is what decode takes for a field.
func schemaOf(target any) schema {
	text := schema{"type": "string"}
	list := func(items schema) schema { return schema{"type": "array", "items": items} }
	object := func(properties schema, required ...string) schema {
		return schema{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	}
	switch target.(type) {
	case *bool:
		return schema{"type": "boolean"}
	case *int:
		return schema{"type": "integer"}
	case *float64:
		return schema{"type": "number"}
	case *time.Duration:
		return schema{"type": []string{"string", "integer"}, "examples": []string{"30s", "5m", "24h"}}
	case *Size:
		return schema{"type": []string{"string", "integer"}, "examples": []string{"512KiB", "64MiB", "1GiB"}}
	case *[]string:
		return list(text)
	case *[]CommandRule:
		return list(schema{"anyOf": []schema{text, object(schema{"prefix": text, "match": list(text), "not_match": list(text)}, "prefix")}})
	case *[]Rule:
		return list(object(schema{"name": text, "when": text, "action": schema{"enum": []Choice{Refuse, Ask}}, "message": text}, "name", "when"))
	case *[]Check:
		return list(object(schema{"paths": text, "command": text}, "paths", "command"))
	case *[]Hook:
		return list(object(schema{"event": schema{"enum": []Choice{EventPre, EventPost}}, "command": text, "tools": list(text),
			"timeout": schemaOf(new(time.Duration))}, "event", "command"))
	}
	return text
}
