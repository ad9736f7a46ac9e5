package intent

import (
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

type schema = map[string]any

// Schema returns a JSON Schema (draft 2020-12) of active_intents.yaml, for editors. Known keys stand in both spellings;
// unknown ones are allowed, as the file allows them. What a glob or a condition must be, and that ids are unique, only
// Load checks.
func Schema() ([]byte, error) {
	list := schema{"type": []string{"array", "null"}, "items": intentSchema()}
	return json.MarshalIndent(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Intents of orchestra-mcp",
		"type":       []string{"object", "null"},
		"properties": schema{"active_intents": list, "activeIntents": list, "intents": list},
		"oneOf": []schema{{"type": "null"}, {"required": []string{"active_intents"}}, {"required": []string{"activeIntents"}},
			{"required": []string{"intents"}}},
	}, "", "  ")
}

func intentSchema() schema {
	text := schema{"type": []string{"string", "null"}}
	texts := schema{"type": []string{"array", "null"}, "items": schema{"type": "string"}}
	described := func(s schema, description string) schema {
		return schema{"type": s["type"], "items": s["items"], "description": description}
	}
	prefix := mapping(commandRuleKeys, schema{"prefix": schema{"type": "string", "minLength": 1}, "match": texts, "not_match": texts})
	prefixes := schema{"type": []string{"array", "null"}, "items": schema{"anyOf": []any{schema{"type": "string", "minLength": 1}, prefix}}}
	commands := mapping(commandKeys, schema{
		"allow": prefixes, "ask": prefixes, "deny": prefixes, "network": schema{"enum": []any{"allow", "deny", "", nil}},
	})
	rules := mapping(ruleKeys, schema{
		"name": schema{"type": "string", "minLength": 1}, "when": schema{"type": "string", "minLength": 1, "description": "A condition in CEL."},
		"action": schema{"enum": []any{rule.Refuse, rule.Ask, "", nil}}, "message": text,
	}, "name", "when")
	return mapping(intentKeys, schema{
		"id":     schema{"type": "string", "pattern": `^[A-Za-z][A-Za-z0-9._-]{0,63}$`},
		"status": schema{"type": []string{"string", "null"}, "description": "IN_PROGRESS if left out.", "pattern": `^([Tt][Oo][Dd][Oo]|[Pp][Ee][Nn][Dd][Ii][Nn][Gg]|[Ii][Nn][_-][Pp][Rr][Oo][Gg][Rr][Ee][Ss][Ss]|[Bb][Ll][Oo][Cc][Kk][Ee][Dd]|[Dd][Oo][Nn][Ee]|[Cc][Oo][Mm][Pp][Ll][Ee][Tt][Ee][Dd])$`, "examples": []Status{Todo, InProgress, Blocked, Done}},
		"name":   text, "description": text, "agent": text,
		"owned_scope":         described(texts, "Globs of the paths that the intent may change, relative to the workspace."),
		"constraints":         described(texts, "Told to the agent."),
		"acceptance_criteria": described(texts, "Told to the agent."),
		"started_at":          schema{"type": []string{"string", "integer", "null"}, "description": "A time such as 2026-02-18T18:30:00Z."},
		"commands":            commands,
		"rules":               schema{"type": []string{"array", "null"}, "items": rules},
		"verify":              described(texts, "Commands that must pass before the intent can be marked done."),
	}, "id")
}

// mapping describes a mapping by its known keys. A key without a schema has none to be in step with, which is a mistake of
// this file that its test finds.
func mapping(keys []string, schemas schema, required ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = schemas[key]
		properties[camelCase(key)] = schemas[key]
	}
	return schema{"type": []string{"object", "null"}, "properties": properties, "required": append([]string{}, required...)}
}
