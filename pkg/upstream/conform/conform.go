package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Errors of Check.
var (
	// ErrBroken: the value is against the schema. The text says where, and what it should be.
	ErrBroken = errors.New("it does not have the promised form")
	// ErrCostly: the check takes more than it may.
	ErrCostly = errors.New("its schema takes too long to be checked")
)

// Bounds of one check.
const (
	maxSteps = 1_000_000
	maxDepth = 300
	maxValue = 4 << 20
)

// Schema is one that was read. It is for concurrent use.
type Schema struct{ root any }

// Parse reads a schema.
func Parse(schema json.RawMessage) (*Schema, error) {
	s := &Schema{}
	if err := jsonv2.Unmarshal(schema, &s.root); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	return s, nil
}

// Check checks a value; one of more than 4 MiB, or with a number that no float64 holds, is taken as it is. The error wraps ErrBroken or ErrCostly.
func (s *Schema) Check(value json.RawMessage) error {
	if len(value) > maxValue {
		return nil
	}
	var instance any
	if err := jsonv2.Unmarshal(value, &instance); err != nil {
		if jsontext.Value(value).IsValid() {
			return nil // a number that is too large for us
		}
		return fmt.Errorf("%w: it is no JSON", ErrBroken)
	}
	c := &check{root: s.root, left: maxSteps, patterns: map[string]*regexp.Regexp{}}
	if top, ok := s.root.(map[string]any); ok {
		draft, _ := top["$schema"].(string)
		c.early = strings.Contains(draft, "/draft-0")
	}
	return c.value(s.root, instance, place{})
}

// check is one in progress.
type check struct {
	root     any
	left     int
	early    bool // up to draft 07 what stands beside a reference does not count
	patterns map[string]*regexp.Regexp
}

// place is where in the value a check is, and how deep in the schema.
type place struct {
	above *place
	step  string
	depth int
	based bool // below an $id: references are relative to that
}

func (p place) in(step string) place { return place{&p, step, p.depth + 1, p.based} }

func (p place) deeper() place {
	p.depth++
	return p
}

const maxShown = 200

// String is a JSON pointer, cut where it is long.
func (p place) String() string {
	var steps []string
	for at := &p; at.above != nil; at = at.above {
		steps = append(steps, at.step)
	}
	slices.Reverse(steps)
	text := strconv.QuoteToASCII("/" + strings.Join(steps, "/"))
	if len(text) > maxShown {
		text = text[:maxShown] + `…"`
	}
	return text
}

// broken is an error whose text is made when it is read: of alternatives that do not fit, none is.
type broken struct {
	at     place
	format string
	args   []any
}

func (b broken) Error() string {
	return fmt.Sprintf("%v: at %s it %s", ErrBroken, b.at, fmt.Sprintf(b.format, b.args...))
}

func (b broken) Unwrap() error { return ErrBroken }

func (p place) broken(format string, args ...any) error { return broken{p, format, args} }

func (c *check) spend(steps int) error {
	if c.left -= steps; c.left < 0 {
		return ErrCostly
	}
	return nil
}

// value checks a value against a schema.
func (c *check) value(schema, value any, at place) error {
	if err := c.spend(1); err != nil {
		return err
	}
	if at.depth > maxDepth {
		return ErrCostly
	}
	rules, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return at.broken("must not be there")
		}
		return nil
	}
	if _, based := rules["$id"]; based && at.depth > 0 {
		at.based = true
	}
	if ref, ok := rules["$ref"].(string); ok {
		if err := c.spend(len(ref) / 16); err != nil {
			return err
		}
		target, found := c.resolve(ref)
		if found && !at.based {
			if err := c.value(target, value, at.deeper()); err != nil {
				return err
			}
		}
		if c.early {
			return nil
		}
	}
	if err := c.kind(rules, value, at); err != nil {
		return err
	}
	if err := c.combined(rules, value, at); err != nil {
		return err
	}
	return c.form(rules, value, at)
}

// form checks what is particular to a kind of value.
func (c *check) form(rules map[string]any, value any, at place) error {
	switch value := value.(type) {
	case map[string]any:
		return c.object(rules, value, at)
	case []any:
		return c.array(rules, value, at)
	case string:
		return c.text(rules, value, at)
	case float64:
		return number(rules, value, at)
	}
	return nil
}

// resolve finds what a reference within the schema leads to.
func (c *check) resolve(ref string) (any, bool) {
	if ref == "#" {
		return c.root, true
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := c.root
	for step := range strings.SplitSeq(pointer, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(step))
		switch holder := at.(type) {
		case map[string]any:
			if at, ok = holder[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(holder) {
				return nil, false
			}
			at = holder[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// kind checks type, enum and const.
func (c *check) kind(rules map[string]any, value any, at place) error {
	switch wanted := rules["type"].(type) {
	case string:
		if !is(value, wanted) {
			return at.broken("is of type %s, not %s", typeOf(value), shown(wanted))
		}
	case []any:
		if err := c.spend(len(wanted)); err != nil {
			return err
		}
		if !slices.ContainsFunc(wanted, func(one any) bool { name, ok := one.(string); return !ok || is(value, name) }) {
			return at.broken("is of type %s, which is none of the promised ones", typeOf(value))
		}
	}
	if one, ok := rules["const"]; ok && !c.equal(one, value) {
		return at.broken("is not the promised value")
	}
	if some, ok := rules["enum"].([]any); ok && !slices.ContainsFunc(some, func(one any) bool { return c.equal(one, value) }) {
		return at.broken("is none of the promised values")
	}
	return c.spend(0)
}

// equal takes as many steps as the schema's value has parts.
func (c *check) equal(one, value any) bool {
	_ = c.spend(1 + weight(one))
	return c.left < 0 || reflect.DeepEqual(one, value)
}

func weight(value any) (parts int) {
	switch value := value.(type) {
	case string:
		return len(value) / 64
	case []any:
		for _, part := range value {
			parts += 1 + weight(part)
		}
	case map[string]any:
		for _, part := range value {
			parts += 1 + weight(part)
		}
	}
	return parts
}

// combined checks allOf, anyOf and oneOf.
func (c *check) combined(rules map[string]any, value any, at place) error {
	all, _ := rules["allOf"].([]any)
	for _, schema := range all {
		if err := c.value(schema, value, at.deeper()); err != nil {
			return err
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		some, ok := rules[keyword].([]any)
		if !ok || len(some) == 0 {
			continue
		}
		fits := false
		for _, schema := range some {
			err := c.value(schema, value, at.deeper())
			if errors.Is(err, ErrCostly) {
				return err
			}
			if fits = err == nil; fits {
				break
			}
		}
		if !fits {
			return at.broken("fits none of the alternatives of %s", keyword)
		}
	}
	return nil
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// is reports whether a value is of a type. Of a type that is not known it is.
func is(value any, wanted string) bool {
	switch wanted {
	case "integer":
		n, ok := value.(float64)
		return ok && n == float64(int64(n)) || ok && (n >= 1<<53 || n <= -1<<53)
	case "null", "boolean", "string", "number", "array", "object":
		return typeOf(value) == wanted
	}
	return true
}

func (c *check) text(rules map[string]any, value string, at place) error {
	if err := c.spend(len(value) / 64); err != nil {
		return err
	}
	length := float64(utf8.RuneCountInString(value))
	if least, most, between := bounds(rules, "minLength", "maxLength"); !between(length) {
		return at.broken("has %.0f characters, not %s", length, spanned(least, most))
	}
	pattern, ok := rules["pattern"].(string)
	if !ok {
		return nil
	}
	matches, known, err := c.matches(pattern, value)
	if err == nil && known && !matches {
		err = at.broken("does not match the promised pattern")
	}
	return err
}
