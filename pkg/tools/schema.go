package tools

import (
	"encoding/json"
	"maps"
)

// schema is a JSON Schema (2020-12) under construction.
type schema map[string]any

func text(description string) schema {
	return schema{"type": "string", "description": description}
}

// Every text of an argument that is not file content has a bound, in characters: what is parsed, compared, hashed and
// recorded of a call has it too.
const (
	pathLimit    = 4096 // what systems take for a path
	nameLimit    = 200  // of an id, a handle, a hash, a word
	patternLimit = 4000 // of a regular expression, a glob, words to look for
	commandLimit = 100_000
	commandBytes = 128<<10 - 1 // of a command, what the kernel takes for one argument
)

// bounded is text of an argument.
func bounded(description string, limit int) schema {
	return schema{"type": "string", "maxLength": limit, "description": description}
}

func word(description string) schema    { return bounded(description, nameLimit) }
func place(description string) schema   { return bounded(description, pathLimit) }
func pattern(description string) schema { return bounded(description, patternLimit) }

// given is a name that may not be empty.
func given(description string) schema {
	s := word(description)
	s["minLength"] = 1
	return s
}

func number(description string, minimum int) schema {
	return schema{"type": "integer", "description": description, "minimum": minimum}
}

func flag(description string) schema {
	return schema{"type": "boolean", "description": description}
}

func oneOf(description string, values ...string) schema {
	return schema{"type": "string", "description": description, "enum": values}
}

func list(description string, item schema) schema {
	return schema{"type": "array", "description": description, "items": item}
}

// object is a closed object: unknown members are refused.
func object(required []string, properties schema) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// open is an object of a result, to which more members may be added.
func open(required []string, properties schema) schema {
	s := object(required, properties)
	delete(s, "additionalProperties")
	return s
}

const sessionHelp = "The `session` that select_active_intent returned. Optional for clients that hold one connection with one selection."

// input is the schema of a safe tool's arguments.
func input(required []string, properties schema) json.RawMessage {
	all := schema{"session": word(sessionHelp)}
	maps.Copy(all, properties)
	return encode(object(required, all))
}

// mutatingInput adds what every destructive tool takes.
func mutatingInput(required []string, properties schema) json.RawMessage {
	all := schema{
		"intent_id":      word("The selected intent, as a cross-check. It never selects."),
		"mutation_class": oneOf("AST_REFACTOR if the change keeps what the code does, else INTENT_EVOLUTION.", "AST_REFACTOR", "INTENT_EVOLUTION"),
	}
	maps.Copy(all, properties)
	return input(required, all)
}

// pathInput is mutatingInput with a path, which may also be called file_path.
func pathInput(required []string, properties schema) json.RawMessage {
	all := schema{"path": place(pathHelp), "file_path": place("Another name for path.")}
	maps.Copy(all, properties)
	return mutatingInput(required, all)
}

const pathHelp = "The file, relative to the workspace root (an absolute path inside the workspace is accepted)."

// output is what a result's structuredContent can be: success or refusal. The
// root has a type because protocol revision 2025-11-25 requires one, and both
// cases stand in it because clients validate errors too.
func output(success schema) json.RawMessage {
	return encode(schema{"type": "object", "anyOf": []schema{success, refusalSchema()}})
}

func refusalSchema() schema {
	return open([]string{"status", "error", "error_type", "recoverable", "action_hint", "suggestion", "classification", "details"}, schema{
		"status":         schema{"const": "error"},
		"message":        schema{"type": "string"},
		"error":          text("What happened and where."),
		"error_type":     text("The code of the refusal."),
		"recoverable":    flag("Whether the agent itself can go on."),
		"action_hint":    text("The next step, in one word."),
		"suggestion":     text("The next step, in a sentence."),
		"classification": oneOf("The class of the tool.", "safe", "destructive", "governance"),
		"details":        schema{"type": "object"},
	})
}

// encode panics only on a schema that does not marshal, which a test of every
// spec would show.
func encode(s schema) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic("tools: schema does not marshal: " + err.Error())
	}
	return b
}

// sentenceLimit bounds a text that an operator is to read, in characters.
const sentenceLimit = 4000

func sentenceSchema(description string) schema {
	s := schema{"type": "string", "minLength": 1, "maxLength": sentenceLimit}
	if description != "" {
		s["description"] = description
	}
	return s
}
