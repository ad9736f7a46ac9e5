package foreignschema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

func (f *fit) kind(schema map[string]any, value any, at string, _ int) error {
	var names []string
	switch types := schema["type"].(type) {
	case string:
		names = []string{types}
	case []any:
		f.left -= len(types)
		for _, one := range types {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return isKind(value, name) }) {
		return nil
	}
	return problem(at, "it is %s, and has to be %s", kindOf(value), clip(strings.Join(names, " or "), 100))
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

func isKind(value any, name string) bool {
	switch name {
	case "null":
		return value == nil
	case "boolean":
		_, is := value.(bool)
		return is
	case "number":
		_, is := value.(float64)
		return is
	case "integer":
		n, is := value.(float64)
		return is && n == float64(int64(n)) || is && (n >= 1<<63 || n <= -(1<<63))
	case "string":
		_, is := value.(string)
		return is
	case "array":
		_, is := value.([]any)
		return is
	case "object":
		_, is := value.(map[string]any)
		return is
	}
	return true // no type that is known
}

// same compares two values, at the cost of the smaller.
func (f *fit) same(a, b any) bool {
	if !f.spend(1) {
		return true
	}
	switch a := a.(type) {
	case string:
		b, is := b.(string)
		f.left -= min(len(a), len(b)) / 64
		return is && a == b
	case []any:
		b, is := b.([]any)
		if !is || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !f.same(a[i], b[i]) {
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
			if other, has := b[name]; !has || !f.same(value, other) {
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

func (f *fit) among(schema map[string]any, value any, at string, _ int) error {
	if one, given := schema["const"]; given && !f.same(one, value) {
		return problem(at, "it has to be %s", shown(one))
	}
	all, ok := schema["enum"].([]any)
	if !ok || slices.ContainsFunc(all, func(one any) bool { return f.same(one, value) }) {
		return nil
	}
	var names []string
	for _, one := range all[:min(len(all), 20)] {
		names = append(names, shown(one))
	}
	return problem(at, "it has to be one of %s", clip(strings.Join(names, ", "), 400))
}

func shown(value any) string {
	if text, is := value.(string); is && len(text) > 100 {
		value = clip(text, 100)
	}
	switch value.(type) {
	case []any, map[string]any:
		return kindOf(value) + " that the schema names"
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return kindOf(value)
	}
	return string(encoded)
}

func (f *fit) number(schema map[string]any, value any, at string, _ int) error {
	n, is := value.(float64)
	if !is {
		return nil
	}
	for _, bound := range []struct {
		name, says string
		ok         func(limit float64) bool
	}{
		{"minimum", "at least", func(limit float64) bool { return n >= limit }},
		{"maximum", "at most", func(limit float64) bool { return n <= limit }},
		{"exclusiveMinimum", "more than", func(limit float64) bool { return n > limit }},
		{"exclusiveMaximum", "less than", func(limit float64) bool { return n < limit }},
	} {
		if limit, given := schema[bound.name].(float64); given && !bound.ok(limit) {
			return problem(at, "it has to be %s %v", bound.says, limit)
		}
	}
	return nil
}

func (f *fit) text(schema map[string]any, value any, at string, _ int) error {
	text, is := value.(string)
	if !is {
		return nil
	}
	least, hasLeast := schema["minLength"].(float64)
	most, hasMost := schema["maxLength"].(float64)
	if hasLeast || hasMost {
		f.left -= len(text) / 64
		switch n := float64(len([]rune(text))); {
		case hasLeast && n < least:
			return problem(at, "it has %v characters, and needs %v", n, least)
		case hasMost && n > most:
			return problem(at, "it has %v characters, and may have %v", n, most)
		}
	}
	pattern, ok := schema["pattern"].(string)
	if !ok {
		return nil
	}
	if re := f.patterns[pattern]; re != nil && f.searches(pattern, text) && !re.MatchString(text) {
		return problem(at, "it does not match %s", clip(strconv.Quote(pattern), 200))
	}
	return nil
}

// searches pays for a search: RE2 takes, at worst, the length of the expression times that of the text.
func (f *fit) searches(pattern, text string) bool {
	return f.spend(1 + len(text)*(1+len(pattern)/8)/64)
}

func (f *fit) list(schema map[string]any, value any, at string, depth int) error {
	items, is := value.([]any)
	if !is {
		return nil
	}
	if err := counted(schema, "minItems", "maxItems", len(items), at, "items"); err != nil {
		return err
	}
	first, _ := schema["prefixItems"].([]any)
	rest, given := schema["items"]
	if old, is := rest.([]any); is { // as drafts before 2020-12 have it
		first = old
		rest, given = schema["additionalItems"]
	}
	for i, item := range items {
		at := at + "/" + strconv.Itoa(i)
		switch {
		case i < len(first):
			if err := f.apply(first[i], item, at, depth+1); err != nil {
				return err
			}
		case given:
			if err := f.apply(rest, item, at, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func counted(schema map[string]any, least, most string, n int, at, what string) error {
	if limit, given := schema[least].(float64); given && float64(n) < limit {
		return problem(at, "it has %d %s, and needs %v", n, what, limit)
	}
	if limit, given := schema[most].(float64); given && float64(n) > limit {
		return problem(at, "it has %d %s, and may have %v", n, what, limit)
	}
	return nil
}

func (f *fit) object(schema map[string]any, value any, at string, depth int) error {
	members, is := value.(map[string]any)
	if !is {
		return nil
	}
	if required, ok := schema["required"].([]any); ok {
		f.left -= len(required)
		for _, one := range required {
			if name, ok := one.(string); ok {
				if _, has := members[name]; !has {
					return problem(at, "%s is missing", clip(strconv.Quote(name), 100))
				}
			}
		}
	}
	if err := counted(schema, "minProperties", "maxProperties", len(members), at, "members"); err != nil {
		return err
	}
	properties, _ := schema["properties"].(map[string]any)
	patterns, _ := schema["patternProperties"].(map[string]any)
	additional, restricted := schema["additionalProperties"]
	for name, member := range members {
		known := false
		at := at + "/" + clip(name, 100)
		if property, has := properties[name]; has {
			known = true
			if err := f.apply(property, member, at, depth+1); err != nil {
				return err
			}
		}
		for pattern, property := range patterns {
			re := f.patterns[pattern]
			if re == nil {
				known = true // it may be
				continue
			}
			if f.searches(pattern, name) && re.MatchString(name) {
				known = true
				if err := f.apply(property, member, at, depth+1); err != nil {
					return err
				}
			}
		}
		if known || !restricted {
			continue
		}
		if allowed, is := additional.(bool); is && !allowed {
			return problem(at, "there is no such argument")
		}
		if err := f.apply(additional, member, at, depth+1); err != nil {
			return err
		}
	}
	return nil
}
