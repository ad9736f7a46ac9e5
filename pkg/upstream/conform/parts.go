package conform

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxPattern bounds a pattern, in bytes. A longer one is not read.
const maxPattern = 1000

// object checks an object's members.
func (c *check) object(rules, value map[string]any, at place) error {
	if err := c.spend(len(value)); err != nil {
		return err
	}
	if least, most, between := bounds(rules, "minProperties", "maxProperties"); !between(float64(len(value))) {
		return at.broken("has %d members, not %s", len(value), spanned(least, most))
	}
	required, _ := rules["required"].([]any)
	for _, one := range required {
		name, ok := one.(string)
		if _, there := value[name]; ok && !there {
			return at.broken("has no member %s", shown(name))
		}
	}
	if err := c.spend(len(required)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if err := c.member(rules, name, value[name], at.in(name)); err != nil {
			return err
		}
	}
	return nil
}

// member checks one member by what the schema says of its name.
func (c *check) member(rules map[string]any, name string, value any, at place) error {
	known := false
	if properties, ok := rules["properties"].(map[string]any); ok {
		if schema, ok := properties[name]; ok {
			known = true
			if err := c.value(schema, value, at); err != nil {
				return err
			}
		}
	}
	patterns, _ := rules["patternProperties"].(map[string]any)
	for pattern, schema := range patterns {
		matches, readable, err := c.matches(pattern, name)
		if err != nil {
			return err
		}
		if known = known || matches || !readable; matches {
			if err := c.value(schema, value, at); err != nil {
				return err
			}
		}
	}
	if schema, ok := rules["additionalProperties"]; ok && !known {
		return c.value(schema, value, at)
	}
	return nil
}

// array checks an array's elements: by their places first, then all others.
func (c *check) array(rules map[string]any, value []any, at place) error {
	if least, most, between := bounds(rules, "minItems", "maxItems"); !between(float64(len(value))) {
		return at.broken("has %d elements, not %s", len(value), spanned(least, most))
	}
	first, rest := rules["prefixItems"], rules["items"]
	if _, draft7 := rest.([]any); draft7 {
		first, rest = rest, rules["additionalItems"]
	}
	places, _ := first.([]any)
	for i, element := range value {
		schema := rest
		if i < len(places) {
			schema = places[i]
		}
		if schema == nil {
			continue
		}
		if err := c.value(schema, element, at.in(strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return c.spend(len(value))
}

func number(rules map[string]any, value float64, at place) error {
	if least, most, between := bounds(rules, "minimum", "maximum"); !between(value) {
		return at.broken("is a number that is not %s", spanned(least, most))
	}
	if least, ok := rules["exclusiveMinimum"].(float64); ok && (value < least || value == least && exact(value)) {
		return at.broken("is a number that is not more than %g", least)
	}
	if most, ok := rules["exclusiveMaximum"].(float64); ok && (value > most || value == most && exact(value)) {
		return at.broken("is a number that is not less than %g", most)
	}
	return nil
}

// exact: the number that was sent is this one, and not one that was rounded to it.
func exact(value float64) bool { return math.Abs(value) < 1<<53 && value == math.Trunc(value) }

// bounds are two keywords that say between what a number lies.
func bounds(rules map[string]any, low, high string) (least, most any, between func(float64) bool) {
	least, most = rules[low], rules[high]
	return least, most, func(value float64) bool {
		l, hasLeast := least.(float64)
		m, hasMost := most.(float64)
		return (!hasLeast || value >= l) && (!hasMost || value <= m)
	}
}

func spanned(least, most any) string {
	l, hasLeast := least.(float64)
	m, hasMost := most.(float64)
	switch {
	case hasLeast && hasMost:
		return fmt.Sprintf("between %g and %g", l, m)
	case hasLeast:
		return fmt.Sprintf("at least %g", l)
	}
	return fmt.Sprintf("at most %g", m)
}

// matches reports whether a text matches a pattern, and whether that is known: patterns are ECMAScript's, which has more of them.
func (c *check) matches(pattern, text string) (matches, known bool, err error) {
	if err := c.spend(1 + len(text)*(1+len(pattern)/64)/16); err != nil {
		return false, false, err
	}
	compiled, read := c.patterns[pattern]
	if !read {
		if err := c.spend(len(pattern)); err != nil {
			return false, false, err
		}
		if len(pattern) <= maxPattern {
			compiled, _ = regexp.Compile(pattern)
		}
		c.patterns[pattern] = compiled
	}
	if compiled == nil || strings.Contains(strings.ToLower(pattern), `\s`) && !ascii(text) { // which spaces there are, they disagree about
		return false, false, nil
	}
	return compiled.MatchString(text), true, nil
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// shown is a name as it can be printed.
func shown(name string) string {
	if len(name) > maxShown {
		name = name[:maxShown]
	}
	return strconv.QuoteToASCII(name)
}

func unescape(step string) string {
	if plain, err := url.PathUnescape(step); err == nil {
		return plain
	}
	return step
}
