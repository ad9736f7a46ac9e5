package foreignschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// place is where in the value a check is, and how deep in the schema.
type place struct {
	above *place
	step  string
	depth int
	based bool // below an $id
}

func (p place) in(step string) place { return place{&p, step, p.depth + 1, p.based} }

func (p place) deeper() place {
	p.depth++
	return p
}

// problem is an error whose text is made when it is read: of alternatives that do not fit, mostly none is.
type problem struct {
	at     place
	format string
	args   []any
}

func (p place) problem(format string, args ...any) error { return problem{p, format, args} }

// Error is like "edits/0/old: it is missing".
func (p problem) Error() string {
	says := printable.Clip(fmt.Sprintf(p.format, p.args...), 500)
	if p.at.above == nil {
		return says
	}
	var steps []string
	for at := &p.at; at.above != nil; at = at.above {
		steps = append(steps, at.step)
	}
	slices.Reverse(steps)
	return words(strings.Join(steps, "/"), 200) + ": " + says
}

// words are the beginning of a text that others wrote.
func words(text string, most int) string { return printable.Text(printable.Clip(text, most)) }

// listed are values of a schema.
type listed []any

const maxListed = 20

func (l listed) String() string {
	var all []string
	for _, one := range l[:min(len(l), maxListed)] {
		switch value := one.(type) {
		case []any, map[string]any:
			one = kindOf(value) + " that the schema names"
		case string:
			one = `"` + words(value, 100) + `"`
		case json.Number:
			one = words(string(value), 40)
		case nil:
			one = "null"
		}
		all = append(all, fmt.Sprint(one))
	}
	if len(l) > maxListed {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

// members are the names that a schema has for those of an object.
type members map[string]any

func (m members) String() string {
	var names listed
	for _, name := range slices.Sorted(maps.Keys(m)) {
		names = append(names, name)
	}
	return names.String()
}
