// Package foreignschema holds values against JSON Schemas that strangers wrote.
//
// # Promise
//
// What is refused is against the schema. Reading a schema and checking a value end, in bounded time and memory, whatever they are:
// references that lead in circles, expressions, numbers of members, depth. Nothing is fetched. Errors say where in the value what is
// wrong and what should be there; they quote names of the value and words of the schema, never the value, and are safe to print.
//
// # Not promised
//
// Not all that is against a schema is found: whoever wrote it may check again. Of JSON Schema (drafts 07 to 2020-12) these keywords
// count: $ref within the schema, type, enum, const, allOf, anyOf, oneOf, not, if, then, else, properties, patternProperties,
// additionalProperties, required, minProperties, maxProperties, items, prefixItems, additionalItems, minItems, maxItems, minLength,
// maxLength, pattern, minimum, maximum, exclusiveMinimum and exclusiveMaximum. Other keywords and references, expressions that RE2
// does not have or that are large, and numbers of which a double is not exact are taken as fulfilled, also where fulfilling them
// would break not, if or oneOf. So is everything where the bounds do not suffice.
package foreignschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxSteps is what one check may cost: a step for each schema that is held against a value, each of its keywords, and each 64
	// bytes that are compared.
	maxSteps = 500_000
	// maxDepth bounds how deep schemas are applied within each other.
	maxDepth = 300
	// maxBytes and maxParts bound what is read: in memory, a part takes up to a hundred bytes.
	maxBytes, maxParts = 4 << 20, 250_000
)

// Schema is one that was read. It is safe for concurrent use.
type Schema struct {
	root  any
	early bool // up to draft 07

	mu       sync.Mutex
	patterns map[string]pattern // that were used
	room     int                // for more of them
}

type pattern struct {
	is   *regexp.Regexp // nil where it is not known what the pattern means
	size int
}

// Read reads a schema.
func Read(text json.RawMessage) (*Schema, error) {
	if tooMuch(text) {
		return nil, errors.New("the schema is too large to be looked at")
	}
	s := &Schema{patterns: map[string]pattern{}, room: maxPatterns}
	var err error
	if s.root, err = decoded(text); err != nil {
		return nil, err
	}
	switch root := s.root.(type) {
	case map[string]any:
		draft, _ := root["$schema"].(string)
		s.early = strings.Contains(draft, "/draft-0")
	case bool:
	default:
		return nil, errors.New("a schema is an object")
	}
	return s, nil
}

// Check says the first thing of a value that is against the schema; nil where nothing is known to be. One of more than 4 MiB is
// taken as it is.
func (s *Schema) Check(value json.RawMessage) error {
	if tooMuch(value) {
		return nil
	}
	is, err := decoded(value)
	if err != nil {
		return err
	}
	c := &check{Schema: s, left: maxSteps}
	if err := c.value(s.root, is, place{}); c.left > 0 {
		return err
	}
	return nil
}

func tooMuch(text []byte) bool {
	parts := 0
	for _, before := range []string{",", "[", "{"} {
		parts += bytes.Count(text, []byte(before))
	}
	return len(text) > maxBytes || parts > maxParts
}

// decoded has the numbers as they are written: a double is not always the same.
func decoded(text []byte) (value any, err error) {
	if !jsontext.Value(text).IsValid() {
		return nil, errors.New("it is no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return value, d.Decode(&value)
}

// check is one in progress.
type check struct {
	*Schema
	left    int
	guessed bool // something was taken as fulfilled of which it is not known
}

// errOver is no finding: Check leaves it out.
var errOver = errors.New("the bounds do not suffice")

func (c *check) spend(steps int) error {
	if c.left -= steps; c.left <= 0 {
		c.left = 0
		return errOver
	}
	return nil
}

// value holds a value against a schema.
func (c *check) value(schema, value any, at place) error {
	if at.depth > maxDepth {
		c.left = 0
	}
	rules, ok := schema.(map[string]any)
	if err := c.spend(1 + len(rules)); err != nil {
		return err
	}
	if !ok {
		if schema == false {
			return at.problem("nothing may stand here")
		}
		c.guessed = c.guessed || schema != true
		return nil
	}
	if _, based := rules["$id"]; based && at.depth > 0 {
		at.based = true
	}
	if ref, ok := rules["$ref"].(string); ok {
		if err := c.referred(ref, value, at); err != nil || c.early {
			return err
		}
	}
	for keyword := range rules {
		c.guessed = c.guessed || !counts(keyword)
	}
	for _, holds := range [...]func(*check, map[string]any, any, place) error{(*check).kind, (*check).among, (*check).form, (*check).combined} {
		if err := holds(c, rules, value, at); err != nil {
			return err
		}
	}
	return nil
}

// counts reports whether a keyword is one of those that are looked at, or demands nothing.
func counts(keyword string) bool {
	switch keyword {
	case "$ref", "type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties",
		"items", "prefixItems", "additionalItems", "minItems", "maxItems", "minLength", "maxLength", "pattern",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly":
		return true
	}
	return false
}

// referred follows a reference within the schema. Below an $id references are relative to that.
func (c *check) referred(ref string, value any, at place) error {
	target, found := c.find(ref)
	if !found || at.based {
		c.guessed = true
		return nil
	}
	return c.value(target, value, at.deeper())
}
