package foreignschema

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// find finds what a reference within the schema leads to.
func (c *check) find(ref string) (target any, found bool) {
	if ref == "#" {
		return c.root, true
	}
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local || c.spend(len(ref)/64) != nil {
		return nil, false
	}
	target = c.root
	for step := range strings.SplitSeq(pointer, "/") {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		if c.spend(1) != nil {
			return nil, false
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch holder := target.(type) {
		case map[string]any:
			target, found = holder[step]
			if inner, is := target.(map[string]any); is && inner["$id"] != nil {
				return nil, false // references in it are relative to that
			}
		case []any:
			i, err := strconv.Atoi(step)
			if found = err == nil && i >= 0 && i < len(holder); found {
				target = holder[i]
			}
		default:
			return nil, false
		}
		if !found {
			return nil, false
		}
	}
	return target, true
}

// fits holds a value against a schema that it need not fit. That it does not is sure; that it does is where nothing was guessed.
func (c *check) fits(schema, value any, at place) (why error, sure bool) {
	before := c.guessed
	c.guessed = false
	why = c.value(schema, value, at.deeper())
	sure = why != nil || !c.guessed
	c.guessed = before
	return why, sure
}

// combined holds a value against the schemas that apply to it besides.
func (c *check) combined(rules map[string]any, value any, at place) error {
	all, _ := rules["allOf"].([]any)
	for _, one := range all {
		if err := c.value(one, value, at.deeper()); err != nil {
			return err
		}
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		some, _ := rules[keyword].([]any)
		if err := c.alternatives(some, keyword == "oneOf", value, at); err != nil {
			return err
		}
	}
	if not, given := rules["not"]; given {
		switch why, sure := c.fits(not, value, at); {
		case why == nil && sure:
			return at.problem("it has a form that it must not have")
		case why == nil:
			c.guessed = true
		}
	}
	return c.condition(rules, value, at)
}

func (c *check) alternatives(some []any, exactly bool, value any, at place) error {
	known, perhaps := 0, 0
	var first error
	for _, one := range some {
		switch why, sure := c.fits(one, value, at); {
		case c.left <= 0:
			return errOver
		case why != nil:
			if first == nil {
				first = why
			}
		case sure:
			known++
		default:
			perhaps++
		}
		if known > 0 && !exactly {
			return nil
		}
	}
	switch {
	case known > 1:
		return at.problem("it has several of the forms of which it can have one")
	case known+perhaps > 0 || len(some) == 0:
		c.guessed = c.guessed || perhaps > 0
		return nil
	case len(some) == 1:
		return first
	}
	return at.problem("it has none of the %d forms that it can have; of the first: %v", len(some), first)
}

func (c *check) condition(rules map[string]any, value any, at place) error {
	condition, given := rules["if"]
	if !given {
		return nil
	}
	branch := "then"
	switch why, sure := c.fits(condition, value, at); {
	case !sure:
		c.guessed = true
		return nil
	case why != nil:
		branch = "else"
	}
	if schema, given := rules[branch]; given {
		return c.value(schema, value, at.deeper())
	}
	return nil
}

// same compares two values; where the bounds do not suffice they are the same.
func (c *check) same(a, b any) bool {
	if c.spend(1) != nil {
		return true
	}
	switch a := a.(type) {
	case string:
		b, is := b.(string)
		return is && len(a) == len(b) && (c.spend(len(a)/64) != nil || a == b)
	case json.Number:
		n, exact, _ := number(a)
		m, also, is := number(b)
		if is && n == m && !(exact && also) {
			c.guessed = true
		}
		return is && n == m
	case []any:
		b, is := b.([]any)
		if !is || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !c.same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, is := b.(map[string]any)
		if !is || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, has := b[name]; !has || !c.same(value, other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}
