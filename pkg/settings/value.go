package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

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

// decode reads a node into a value, with its type and no other.
func decode(node *yaml.Node, into reflect.Value) error {
	switch t := into.Addr().Interface().(type) {
	case *CommandRule:
		if node.Kind == yaml.ScalarNode {
			return decode(node, into.FieldByName("Prefix"))
		}
	case *Rule:
		if err := decodeObject(node, into); err != nil {
			return err
		}
		return t.complete(node)
	case *Server:
		if err := decodeObject(node, into); err != nil {
			return err
		}
		return t.complete(node)
	case *[]Server:
		return decodeServers(node, t)
	case *[]Rule:
		if len(node.Content) > rule.MaxRules { // before each is compiled
			return wrong(node, "more than %d rules", rule.MaxRules)
		}
	}
	switch into.Kind() {
	case reflect.Slice:
		return decodeList(node, into)
	case reflect.Struct:
		return decodeObject(node, into)
	}
	form := formOf(into.Type())
	if node.Kind != yaml.ScalarNode || !slices.Contains(strings.Fields(form.tags), node.ShortTag()) {
		return wrong(node, "want %s, not %s", form.name, describe(node))
	}
	value, err := form.parse(node.Value)
	if err != nil {
		return wrong(node, "%v", err)
	}
	into.Set(reflect.ValueOf(value))
	return nil
}

func decodeList(node *yaml.Node, target reflect.Value) error {
	if node.Kind != yaml.SequenceNode {
		return wrong(node, "want a list, not %s", describe(node))
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		if err := decode(item, list.Index(i)); err != nil {
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
	for pair := range slices.Chunk(mapping.Content, 2) {
		if pair[0].Value == key {
			return pair[1]
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
	fields := fieldsOf(target.Type())
	for _, f := range fields {
		names = append(names, keyOf(f.Name))
	}
	seen := map[string]bool{}
	for pair := range slices.Chunk(node.Content, 2) {
		name, value := pair[0], pair[1]
		if seen[name.Value] {
			return wrong(name, "%q stands here twice", name.Value)
		}
		seen[name.Value] = true
		at := slices.Index(names, name.Value)
		if at < 0 {
			return wrong(name, "unknown key %q%s", name.Value, didYouMean(name.Value, names))
		}
		if err := decode(value, target.FieldByIndex(fields[at].Index)); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf are those that a file can set.
func fieldsOf(t reflect.Type) (fields []reflect.StructField) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			fields = append(fields, f)
		}
	}
	return fields
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
