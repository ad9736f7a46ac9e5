package intent

import (
	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
)

var commandRuleKeys = []string{"prefix", "match", "not_match"}

// commandRules reads a list of rules for commands: each a prefix, or a mapping of one with lines that it must and must
// not match. A rule that misses them would not hold what its author thinks, so the file counts as unreadable.
func (d *decoder) commandRules(f *fields, key string, prefixes *[]string, rules *[]policy.Rule) error {
	list := f.get(key)
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return nodeError(filePath, list, "%s%s must be a list, not %s", key, f.of(), kindName(list))
	}
	for _, item := range list.Content {
		item = deref(item)
		prefix, match, notMatch, err := d.commandRule(f, key, item)
		if err != nil {
			return err
		}
		rule, err := policy.Parse(prefix)
		if err == nil {
			err = rule.Check(match, notMatch)
		}
		if err != nil {
			return nodeError(filePath, item, "%s%s: %v", key, f.of(), err)
		}
		*prefixes, *rules = append(*prefixes, prefix), append(*rules, rule)
	}
	return nil
}

func (d *decoder) commandRule(f *fields, key string, item *yaml.Node) (prefix string, match, notMatch []string, err error) {
	switch {
	case item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str":
		return item.Value, nil, nil, nil
	case item.Kind != yaml.MappingNode:
		return "", nil, nil, nodeError(filePath, item, "%s%s must be a list of text: here stands %s", key, f.of(), kindName(item))
	}
	sub, err := d.fields(item, "a rule of "+key, commandRuleKeys)
	if err != nil {
		return "", nil, nil, err
	}
	sub.owner = f.owner
	for _, step := range []error{sub.text("prefix", &prefix), sub.list("match", &match), sub.list("not_match", &notMatch)} {
		if step != nil {
			return "", nil, nil, step
		}
	}
	return prefix, match, notMatch, nil
}
