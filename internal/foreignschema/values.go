package foreignschema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (c *check) kind(rules map[string]any, value any, at place) error {
	wanted, ok := rules["type"].([]any)
	if !ok {
		wanted = []any{rules["type"]}
	}
	if err := c.spend(len(wanted)); err != nil {
		return err
	}
	var names []string
	for _, one := range wanted {
		name, ok := one.(string)
		if !ok || c.is(value, name) {
			return nil
		}
		names = append(names, name)
	}
	if names == nil {
		return nil
	}
	return at.problem("it is %s, and has to be %s", kindOf(value), words(strings.Join(names, " or "), 100))
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

// is reports whether a value is of a type. Of a type that is not known it is.
func (c *check) is(value any, name string) bool {
	switch name {
	case "integer":
		n, exact, is := number(value)
		c.guessed = c.guessed || is && !exact
		return is && n == math.Trunc(n)
	case "null":
		return value == nil
	case "boolean", "number", "string", "array", "object":
		return strings.HasSuffix(kindOf(value), " "+name)
	}
	c.guessed = true
	return true
}

// number is what a number is as a double, one that is too large infinite. Exact is one of few digits: no other of few digits has
// the same double.
func number(value any) (n float64, exact, is bool) {
	text, is := value.(json.Number)
	if !is {
		return 0, false, false
	}
	n, _ = strconv.ParseFloat(string(text), 64)
	digits, exponent, _ := strings.Cut(strings.ToLower(string(text)), "e")
	return n, len(digits) <= 15 && len(exponent) <= 3, true
}

func (c *check) among(rules map[string]any, value any, at place) error {
	if one, given := rules["const"]; given && !c.same(one, value) {
		return at.problem("it has to be %s", listed{one})
	}
	all, ok := rules["enum"].([]any)
	if !ok || slices.ContainsFunc(all, func(one any) bool { return c.same(one, value) }) {
		return nil
	}
	return at.problem("it has to be one of %s", listed(all))
}

// form holds a value against what is particular to its kind.
func (c *check) form(rules map[string]any, value any, at place) error {
	switch value := value.(type) {
	case map[string]any:
		return c.object(rules, value, at)
	case []any:
		return c.array(rules, value, at)
	case string:
		return c.text(rules, value, at)
	case json.Number:
		return c.number(rules, value, at)
	}
	return nil
}

func (c *check) number(rules map[string]any, value json.Number, at place) error {
	if err := c.spend(len(value) / 64); err != nil {
		return err
	}
	n, exact, _ := number(value)
	for _, bound := range [...]struct {
		keyword, says string
		less, equal   bool // what does not fit
	}{
		{"minimum", "at least", true, false},
		{"maximum", "at most", false, false},
		{"exclusiveMinimum", "more than", true, true},
		{"exclusiveMaximum", "less than", false, true},
	} {
		limit, also, given := number(rules[bound.keyword])
		switch {
		case !given:
		case n == limit && !(exact && also): // they were rounded to it
			c.guessed = true
		case n == limit && bound.equal, n != limit && n < limit == bound.less:
			return at.problem("it has to be %s %s", bound.says, words(string(rules[bound.keyword].(json.Number)), 40))
		}
	}
	return nil
}

// counted holds a number of parts between two keywords.
func (c *check) counted(rules map[string]any, least, most string, n int, what string, at place) error {
	if limit, _, given := number(rules[least]); given && float64(n) < limit {
		return at.problem("it has %d %s, and needs %g", n, what, limit)
	}
	if limit, _, given := number(rules[most]); given && float64(n) > limit {
		return at.problem("it has %d %s, and may have %g", n, what, limit)
	}
	return nil
}

func (c *check) text(rules map[string]any, value string, at place) error {
	if err := c.spend(len(value) / 64); err != nil {
		return err
	}
	if err := c.counted(rules, "minLength", "maxLength", utf8.RuneCountInString(value), "characters", at); err != nil {
		return err
	}
	pattern, ok := rules["pattern"].(string)
	if !ok {
		return nil
	}
	if matches, known := c.matches(pattern, value); known && !matches {
		return at.problem("it does not match the pattern %s", words(pattern, 200))
	}
	return nil
}

// array holds elements against schemas by their places first, then all others against one.
func (c *check) array(rules map[string]any, value []any, at place) error {
	if err := c.counted(rules, "minItems", "maxItems", len(value), "items", at); err != nil {
		return err
	}
	var first []any
	rest, given := rules["items"]
	if places, is := rest.([]any); is { // as drafts before 2020-12 have it
		first = places
		rest, given = rules["additionalItems"]
	} else if !c.early {
		first, _ = rules["prefixItems"].([]any)
	}
	for i, element := range value {
		schema := rest
		switch {
		case i < len(first):
			schema = first[i]
		case !given:
			return nil
		}
		if err := c.value(schema, element, at.in(strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) object(rules, value map[string]any, at place) error {
	required, _ := rules["required"].([]any)
	patterns, _ := rules["patternProperties"].(map[string]any)
	if err := c.spend(len(value) + len(required) + len(patterns)); err != nil {
		return err
	}
	for _, one := range required {
		if name, ok := one.(string); ok {
			if _, there := value[name]; !there {
				return at.in(name).problem("it is missing")
			}
		}
	}
	if err := c.counted(rules, "minProperties", "maxProperties", len(value), "members", at); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(patterns))
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if err := c.member(rules, names, name, value[name], at.in(name)); err != nil {
			return err
		}
	}
	return nil
}

// member holds one member against what the schema says of its name.
func (c *check) member(rules map[string]any, patterns []string, name string, value any, at place) error {
	properties, _ := rules["properties"].(map[string]any)
	property, known := properties[name]
	if known {
		if err := c.value(property, value, at); err != nil {
			return err
		}
	}
	for _, pattern := range patterns {
		matches, sure := c.matches(pattern, name)
		known = known || matches || !sure
		if !matches {
			continue
		}
		if err := c.value(rules["patternProperties"].(map[string]any)[pattern], value, at); err != nil {
			return err
		}
	}
	additional, given := rules["additionalProperties"]
	switch {
	case known || !given:
		return nil
	case additional == false && len(properties) > 0:
		return at.problem("there is no such member; there are %s", members(properties))
	}
	return c.value(additional, value, at)
}
