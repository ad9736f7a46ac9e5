package advicetest

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Answers holds the answers of tools to what the tools promise: each to its own output schema, a success to all that is known
// of it, and a refusal to what an agent can do with it.
type Answers struct {
	tools            Tools
	outputs, results map[string]*jsonschema.Resolved
}

func NewAnswers() *Answers {
	return &Answers{Tools{}, map[string]*jsonschema.Resolved{}, map[string]*jsonschema.Resolved{}}
}

// Add reads a tool's schemas. One without an output schema promises nothing.
func (a *Answers) Add(name string, input, output, result []byte) error {
	for to, source := range map[*map[string]*jsonschema.Resolved][]byte{&a.outputs: output, &a.results: result} {
		if len(source) == 0 {
			continue
		}
		schema, err := compile(source)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		(*to)[name] = schema
	}
	return a.tools.Add(name, input)
}

// Faults says what is wrong with an answer.
func (a *Answers) Faults(tool string, structured []byte, refused bool) (faults []string) {
	var value any
	if err := json.Unmarshal(structured, &value); err != nil {
		return []string{err.Error()}
	}
	if schema := a.outputs[tool]; schema != nil {
		if err := schema.Validate(value); err != nil {
			faults = append(faults, fmt.Sprintf("it answers against its own output schema: %v\n%s", err, structured))
		}
	}
	if schema := a.results[tool]; schema != nil && !refused {
		if err := schema.Validate(value); err != nil {
			faults = append(faults, fmt.Sprintf("it answers against what is known of its result: %v\n%s", err, structured))
		}
	}
	if object, ok := value.(map[string]any); refused && ok {
		faults = append(faults, a.tools.Faults(tool, object)...)
	}
	return faults
}

// compiled has the schemas by their texts: compiling those of all tools costs more than a test of a few calls.
var compiled sync.Map

func compile(source []byte) (*jsonschema.Resolved, error) {
	if schema, ok := compiled.Load(string(source)); ok {
		return schema.(*jsonschema.Resolved), nil
	}
	var document jsonschema.Schema
	if err := json.Unmarshal(source, &document); err != nil {
		return nil, err
	}
	schema, err := document.Resolve(nil)
	if err == nil {
		compiled.Store(string(source), schema)
	}
	return schema, err
}
