package settings

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// mistake is a positioned error before its file is known.
type mistake struct {
	node    *yaml.Node
	message string
}

func (m *mistake) Error() string { return m.message }

func wrong(node *yaml.Node, format string, args ...any) error {
	return &mistake{node, fmt.Sprintf(format, args...)}
}

// decode reads a node into the field that target points to, with its type and no other.
func decode(node *yaml.Node, target any) error {
	value := reflect.ValueOf(target).Elem()
	switch t := target.(type) {
	case *CommandRule:
		if node.Kind == yaml.ScalarNode {
			return decode(node, &t.Prefix)
		}
	case *Rule:
		if err := decodeObject(node, value); err != nil {
			return err
		}
		return t.complete(node)
	case *[]Rule:
		if len(node.Content) > rule.MaxRules { // before each is compiled
			return wrong(node, "more than %d rules", rule.MaxRules)
		}
	}
	switch value.Kind() {
	case reflect.Slice:
		return decodeList(node, value)
	case reflect.Struct:
		return decodeObject(node, value)
	}
	if node.Kind != yaml.ScalarNode || !accepts(target, node.ShortTag()) {
		return wrong(node, "want %s, not %s", typeName(target), describe(node))
	}
	if err := parse(node.Value, target); err != nil {
		return wrong(node, "%v", err)
	}
	return nil
}

func decodeList(node *yaml.Node, target reflect.Value) error {
	if node.Kind != yaml.SequenceNode {
		return wrong(node, "want a list, not %s", describe(node))
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		if err := decode(item, list.Index(i).Addr().Interface()); err != nil {
			return err
		}
	}
	target.Set(list)
	return nil
}

// complete also compiles the condition, so that a mistake in it has its line.
func (r *Rule) complete(node *yaml.Node) error {
	if r.Action == "" {
		r.Action = Refuse
	}
	if r.Name == "" || r.When == "" {
		return wrong(node, "a rule needs name and when")
	}
	if _, err := r.Compile(); err != nil {
		return wrong(valueOf(node, "when"), "rule %q: %v", r.Name, err)
	}
	return nil
}

// valueOf returns the value of a key that a mapping has.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return mapping
}

// decodeObject reads a mapping into a struct.
func decodeObject(node *yaml.Node, target reflect.Value) error {
	if node.Kind != yaml.MappingNode {
		return wrong(node, "want a mapping, not %s", describe(node))
	}
	var names []string
	for i := range target.NumField() {
		names = append(names, keyOf(target.Type().Field(i).Name))
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if seen[name.Value] {
			return wrong(name, "%q stands here twice", name.Value)
		}
		seen[name.Value] = true
		at := slices.Index(names, name.Value)
		if at < 0 {
			return wrong(name, "unknown key %q%s", name.Value, didYouMean(name.Value, names))
		}
		if err := decode(value, target.Field(at).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// accepts keeps YAML from taking one type for another: a number is no text, and a text no boolean.
func accepts(target any, tag string) bool {
	switch target.(type) {
	case *bool:
		return tag == "!!bool"
	case *int:
		return tag == "!!int"
	case *float64:
		return tag == "!!float" || tag == "!!int"
	case *time.Duration, *Size:
		return tag == "!!str" || tag == "!!int"
	}
	return tag == "!!str"
}

// parse reads the text of a file, a variable or a flag.
func parse(text string, target any) error {
	var err error
	switch t := target.(type) {
	case *string:
		*t = text
	case *Choice:
		*t = Choice(text)
	case *bool:
		*t, err = parseBool(text)
	case *int:
		*t, err = strconv.Atoi(text)
		err = badValue(err, text, target)
	case *float64:
		*t, err = strconv.ParseFloat(text, 64)
		err = badValue(err, text, target)
	case *time.Duration:
		*t, err = parseDuration(text)
	case *Size:
		*t, err = parseSize(text)
	default:
		err = fmt.Errorf("want %s", typeName(target))
	}
	return err
}

func badValue(err error, text string, target any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not %s", text, typeName(target))
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// parseDuration takes 30s, 5m, 24h and their sums; a bare number is seconds.
func parseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds < 0 || seconds > math.MaxInt64/int64(time.Second) {
			return 0, fmt.Errorf("%q is out of range", text)
		}
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration; write it as 30s, 5m or 24h", text)
	}
	return d, nil
}

// units are in the order in which String tries them.
func units() []struct {
	suffix string
	size   Size
} {
	return []struct {
		suffix string
		size   Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

func parseSize(text string) (Size, error) {
	digits, factor := strings.TrimSpace(text), Size(1)
	for _, unit := range units() {
		if rest, ok := strings.CutSuffix(digits, unit.suffix); ok {
			digits, factor = strings.TrimSpace(rest), unit.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || Size(n) > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size; write it as a number of bytes or as 512KiB, 64MiB or 1GiB", text)
	}
	return Size(n) * factor, nil
}

// String writes the size as files do.
func (s Size) String() string {
	for _, unit := range units() {
		if s >= unit.size && s%unit.size == 0 {
			return strconv.FormatInt(int64(s/unit.size), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

func typeName(target any) string {
	switch target.(type) {
	case *bool:
		return "true or false"
	case *int:
		return "a whole number"
	case *float64:
		return "a number"
	case *time.Duration:
		return "a duration such as 30s, 5m or 24h"
	case *Size:
		return "a size such as 512KiB, 64MiB or 1GiB"
	case *string, *Choice:
		return "text"
	}
	return "a list"
}

func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.AliasNode:
		return "an alias"
	case node.ShortTag() == "!!null":
		return "nothing"
	case node.ShortTag() == "!!bool":
		return "the boolean " + node.Value + " (quote it if it is meant as text)"
	case node.ShortTag() == "!!int" || node.ShortTag() == "!!float":
		return "the number " + node.Value + " (quote it if it is meant as text)"
	}
	return strconv.Quote(node.Value)
}
