package settings

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// foreignVariables begin with ORCHESTRA_ and are no settings.
func foreignVariables() []string {
	return []string{
		"ORCHESTRA_RUN",   // marks the processes of a command
		"ORCHESTRA_MODEL", // the model of the client that starts a server
		"ORCHESTRA_LONG",  // turns on the long form of the tests
	}
}

// fromEnvironment reads ORCHESTRA_ variables. An empty one counts as not set.
func fromEnvironment(environ []string) (s source, warnings []string, err error) {
	s.name = "the environment"
	byVariable := map[string]*key{}
	for _, k := range catalogue() {
		byVariable[k.variable()] = &k
	}
	known := slices.Sorted(maps.Keys(byVariable))
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) || slices.Contains(foreignVariables(), name) {
			continue
		}
		k := byVariable[name]
		if k == nil {
			warnings = append(warnings, fmt.Sprintf("unknown environment variable %s is ignored%s", name, didYouMean(name, known)))
			continue
		}
		if text == "" {
			continue
		}
		if err := s.take(k, text, "environment variable "+name); err != nil {
			return s, warnings, err
		}
	}
	return s, warnings, nil
}

// fromFlags reads values by key.
func fromFlags(flags map[string]string) (source, error) {
	s := source{name: "the command line"}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		k := find(name)
		if k == nil {
			return s, fmt.Errorf("%w: unknown setting %q on the command line%s", ErrInvalid, name, didYouMean(name, names()))
		}
		if err := s.take(k, flags[name], "command line"); err != nil {
			return s, err
		}
	}
	return s, nil
}

// read reads a value that is not in a file. A list is YAML if it begins with a bracket, else it is split at commas.
func (k *key) read(text string) (any, error) {
	if !k.isList() {
		return formOf(k.Type).parse(text)
	}
	list := reflect.New(k.Type).Elem()
	err := parseList(text, list)
	return list.Interface(), err
}

// take sets a value that is not in a file.
func (s *source) take(k *key, text, origin string) error {
	value, err := k.read(text)
	switch {
	case err != nil && k.secret():
		err = errors.New(k.wanted()) // the message would show the value
	case err == nil:
		err = k.validate(value)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %s: %v", ErrInvalid, origin, k.name, err)
	}
	s.assignments = append(s.assignments, assignment{k, value, origin})
	return nil
}

func parseList(text string, target reflect.Value) error {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "- ") {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			return err
		}
		return decode(document.Content[0], target)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item})
		}
	}
	return decode(list, target)
}
