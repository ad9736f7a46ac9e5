package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
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
func fromEnvironment(environ []string, keys []key) (s source, warnings []string, err error) {
	s.name = "the environment"
	byVariable := map[string]*key{}
	for i := range keys {
		byVariable[keys[i].variable()] = &keys[i]
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
		a, err := k.fromText(text, "environment variable "+name)
		if err != nil {
			return s, warnings, err
		}
		s.assignments = append(s.assignments, a)
	}
	return s, warnings, nil
}

// fromFlags reads values by key.
func fromFlags(flags map[string]string, keys []key) (source, error) {
	s := source{name: "the command line"}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if i < 0 {
			return s, fmt.Errorf("%w: unknown setting %q on the command line%s", ErrInvalid, name, didYouMean(name, names(keys)))
		}
		a, err := keys[i].fromText(flags[name], "command line")
		if err != nil {
			return s, err
		}
		s.assignments = append(s.assignments, a)
	}
	return s, nil
}

// fromText reads a value that is not in a file. A list is YAML if it begins with a bracket, else it is split at commas.
func (k *key) fromText(text, origin string) (assignment, error) {
	target := k.empty()
	var err error
	if k.isList() {
		err = parseList(text, target)
	} else {
		err = parse(text, target)
	}
	if err == nil {
		err = k.validate(target)
	}
	if err != nil && k.secret {
		err = fmt.Errorf("its value %w", err)
	}
	if err != nil {
		return assignment{}, fmt.Errorf("%w: %s: %s: %v", ErrInvalid, origin, k.name, err)
	}
	return assignment{k, pointee(target), origin}, nil
}

func parseList(text string, target any) error {
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
