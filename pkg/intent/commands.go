package intent

import (
	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
)

var commandRuleKeys = []string{"prefix", "match", "not_match"}

// commandRules reads a list of rules for commands: each a prefix, or a mapping of one with lines that it must and must
// not match. A rule that misses them would not hold what its author thinks, so the file counts as unreadable.
func (d *decoder) commandRules(f *fields, key string, prefixes *[]string, rules *[]policy.Rule) {
	for _, item := range f.items(key) {
		prefix, match, notMatch := d.commandRule(f, key, item)
		rule, err := policy.Parse(prefix)
		if err == nil {
			err = rule.Check(match, notMatch)
		}
		if err != nil {
			f.fail(item, "%s%s: %v", key, f.of, err)
		}
		*prefixes, *rules = append(*prefixes, prefix), append(*rules, rule)
	}
}

func (d *decoder) commandRule(f *fields, key string, item *yaml.Node) (prefix string, match, notMatch []string) {
	switch {
	case isText(item):
		return item.Value, nil, nil
	case item.Kind != yaml.MappingNode:
		f.fail(item, "%s%s must be a list of text: here stands %s", key, f.of, kindName(item))
		return "", nil, nil
	}
	sub, err := d.fields(item, "a rule of "+key, f.of, commandRuleKeys)
	if err == nil {
		sub.text("prefix", &prefix)
		sub.list("match", &match)
		sub.list("not_match", &notMatch)
		err = sub.err
	}
	if err != nil && f.err == nil {
		f.err = err
	}
	return prefix, match, notMatch
}
