package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// parsed is a definition as it was read once, without what depends on the settings.
type parsed struct {
	tool     Tool     // without Server, Name and Safe
	mentions []string // what could be names of tools in it
	err      error    // why it cannot be offered, whoever trusts it
}

// wire is what a definition has. Names of members are compared exactly, as clients do.
type wire struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema"`
	Annotations  *struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
}

// parse reads the definition of a tool, and looks at it unless it is known to be clean. One that cannot be offered still has a name
// for people, if it has any.
func parse(definition json.RawMessage, b *budget, c *clean) parsed {
	form, err := canonical(definition)
	if err != nil {
		return parsed{tool: Tool{Own: nameIn(definition)}, err: fmt.Errorf("its definition is not clear: %w", err)}
	}
	var w wire
	if err := jsonv2.Unmarshal(form, &w); err != nil {
		return parsed{tool: Tool{Own: nameIn(definition)}, err: errors.New("its definition has a member of another type than it must have")}
	}
	line := jsontext.Value(slices.Clone(definition))
	if err := line.Compact(jsontext.PreserveRawStrings(true)); err != nil {
		return parsed{tool: Tool{Own: forPeople(w.Name)}, err: plainly(err)}
	}
	t := Tool{Own: w.Name, Definition: json.RawMessage(line), Hash: hash(form), Title: w.Title, Description: w.Description, Input: json.RawMessage(w.InputSchema)}
	if len(w.OutputSchema) > 0 && w.OutputSchema.Kind() != 'n' {
		t.Output = json.RawMessage(w.OutputSchema)
	}
	if a := w.Annotations; a != nil {
		t.Suggested = Annotations{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld}
	}
	switch {
	case !isName(w.Name):
		t.Own = forPeople(w.Name)
		return parsed{tool: t, err: fmt.Errorf("a name has letters, digits, _, . and -, %d at most", MaxName)}
	case w.InputSchema.Kind() != '{':
		return parsed{tool: t, err: errors.New("it has no input schema")}
	case t.Output != nil && w.OutputSchema.Kind() != '{':
		return parsed{tool: t, err: errors.New("its output schema is no schema")}
	}
	in, known := c.known(t.Hash)
	if !known {
		in = inspect(form, b)
	}
	t.Findings = in.findings
	return parsed{tool: t, mentions: in.mentions}
}

// isName: the names that all clients take.
func isName(name string) bool {
	return name != "" && len(name) <= MaxName && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// forPeople is a name that is not offered, as it can be shown.
func forPeople(name string) string { return excerpt(printable.Text(name), 0) }

// nameIn is the name of a definition that does not parse, as far as it can be told.
func nameIn(definition json.RawMessage) string {
	var w struct{ Name string }
	_ = json.Unmarshal(definition, &w) // which forgives what canonical does not
	return forPeople(w.Name)
}
