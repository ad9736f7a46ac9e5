// Package foreignschema holds values against JSON Schemas that strangers wrote.
//
// It promises that reading a schema and holding a value against it end, in bounded time and memory, whatever stands in
// the schema: references that lead in circles, expressions, numbers of members, depth. It fetches nothing.
//
// It does not promise to find all that is wrong. A part of the schema that it does not know, or a value for which the
// budget does not last, fits. So this is a courtesy to who makes the value, and no boundary: whoever wrote the schema
// checks again.
package foreignschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	// budget is what one Fit may cost, in steps: one for each keyword of a schema that is held against a value, and for each 64
	// bytes that are compared or searched.
	budget = 200_000
	// maxDepth bounds how deep schemas are applied within each other.
	maxDepth = 100
	// maxPatterns and maxPattern bound the regular expressions of a schema, and the bytes of one.
	maxPatterns, maxPattern = 256, 1 << 10
)

// Schema is one that was read. It is immutable and safe for concurrent use.
type Schema struct {
	root     any
	patterns map[string]*regexp.Regexp // nil for one that RE2 does not have
	anchors  map[string]any
}

// Read reads a schema.
func Read(text json.RawMessage) (*Schema, error) {
	s := &Schema{patterns: map[string]*regexp.Regexp{}, anchors: map[string]any{}}
	if err := json.Unmarshal(text, &s.root); err != nil {
		return nil, err
	}
	if !isSchema(s.root) {
		return nil, errors.New("a schema is an object")
	}
	s.compile(s.root)
	return s, nil
}

func isSchema(part any) bool {
	switch part.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}

// compile finds the expressions and anchors, wherever they stand: json.Unmarshal has bounded the depth.
func (s *Schema) compile(part any) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			s.compile(one)
		}
	case map[string]any:
		if text, ok := part["pattern"].(string); ok {
			s.pattern(text)
		}
		if by, ok := part["patternProperties"].(map[string]any); ok {
			for text := range by {
				s.pattern(text)
			}
		}
		if name, ok := part["$anchor"].(string); ok {
			s.anchors[name] = part
		}
		for _, one := range part {
			s.compile(one)
		}
	}
}

func (s *Schema) pattern(text string) {
	if _, known := s.patterns[text]; known || len(text) > maxPattern || len(s.patterns) >= maxPatterns {
		return
	}
	s.patterns[text], _ = regexp.Compile(text)
}

// Fit says what of a value, as encoding/json decodes it into any, does not fit: the first thing that is found, in one short
// sentence. It is nil where nothing is known to be wrong.
func (s *Schema) Fit(value any) error {
	f := &fit{Schema: s, left: budget}
	err := f.apply(s.root, value, "", 0)
	if f.left <= 0 || errors.Is(err, errOver) {
		return nil
	}
	return err
}

var errOver = errors.New("the budget is used up")

// fit is one value on its way through a schema.
type fit struct {
	*Schema
	left int
}

// spend reports whether the budget lasts.
func (f *fit) spend(steps int) bool {
	f.left -= steps
	return f.left > 0
}

func problem(at, format string, args ...any) error {
	where := "the arguments: "
	if at != "" {
		where = clip(strings.TrimPrefix(at, "/"), 200) + ": "
	}
	return errors.New(where + fmt.Sprintf(format, args...))
}

func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// apply holds a value against one schema.
func (f *fit) apply(schema, value any, at string, depth int) error {
	if !f.spend(1) || depth > maxDepth {
		f.left = 0
		return errOver
	}
	members, ok := schema.(map[string]any)
	if !ok {
		if allowed, is := schema.(bool); is && !allowed {
			return problem(at, "nothing fits here")
		}
		return nil
	}
	f.left -= len(members)
	for _, check := range []func(*fit, map[string]any, any, string, int) error{
		(*fit).referred, (*fit).kind, (*fit).among, (*fit).number, (*fit).text, (*fit).list, (*fit).object, (*fit).combined,
	} {
		if err := check(f, members, value, at, depth); err != nil {
			return err
		}
	}
	return nil
}

// referred follows a reference within the schema. One that leads elsewhere, or nowhere, is nothing that is known.
func (f *fit) referred(schema map[string]any, value any, at string, depth int) error {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return nil
	}
	if target, found := f.find(ref); found {
		return f.apply(target, value, at, depth+1)
	}
	return nil
}

func (f *fit) find(ref string) (any, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, false
	}
	if pointer == "" {
		return f.root, true
	}
	if pointer[0] != '/' {
		target, ok := f.anchors[pointer]
		return target, ok
	}
	at := f.root
	if !f.spend(len(ref) / 16) {
		return nil, false
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		if name, err := url.PathUnescape(part); err == nil {
			part = name
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if !f.spend(1) {
			return nil, false
		}
		switch here := at.(type) {
		case map[string]any:
			next, ok := here[part]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(here) {
				return nil, false
			}
			at = here[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// combined holds a value against the schemas that apply to it besides.
func (f *fit) combined(schema map[string]any, value any, at string, depth int) error {
	all, _ := schema["allOf"].([]any)
	for _, one := range all {
		if err := f.apply(one, value, at, depth+1); err != nil {
			return err
		}
	}
	for _, of := range []struct {
		name  string
		exact bool
	}{{"anyOf", false}, {"oneOf", true}} {
		some, ok := schema[of.name].([]any)
		if !ok || len(some) == 0 {
			continue
		}
		fits := 0
		var why error
		for _, one := range some {
			err := f.apply(one, value, at, depth+1)
			switch {
			case f.left <= 0:
				return errOver
			case err == nil:
				fits++
			case why == nil:
				why = err
			}
		}
		switch {
		case fits == 0 && len(some) == 1:
			return why
		case fits == 0:
			return problem(at, "it has none of the %d forms that it can have; of the first: %s", len(some), clip(why.Error(), 200))
		case fits > 1 && of.exact:
			return problem(at, "it has several of the forms of which it can have one")
		}
	}
	return f.conditions(schema, value, at, depth)
}

func (f *fit) conditions(schema map[string]any, value any, at string, depth int) error {
	if not, given := schema["not"]; given && isSchema(not) {
		err := f.apply(not, value, at, depth+1)
		if f.left <= 0 {
			return errOver
		}
		if err == nil {
			return problem(at, "it has a form that it must not have")
		}
	}
	condition, given := schema["if"]
	if !given || !isSchema(condition) {
		return nil
	}
	then := "then"
	if f.apply(condition, value, at, depth+1) != nil {
		then = "else"
	}
	if f.left <= 0 {
		return errOver
	}
	if branch, given := schema[then]; given {
		return f.apply(branch, value, at, depth+1)
	}
	return nil
}
