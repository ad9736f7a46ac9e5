package intent

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
)

// The keys of each kind of mapping, in the order in which they are written.
var (
	intentKeys = []string{"id", "name", "status", "description", "owned_scope", "constraints", "acceptance_criteria",
		"agent", "started_at", "commands", "rules", "verify"}
	commandKeys     = []string{"allow", "ask", "deny", "network"}
	commandRuleKeys = []string{"prefix", "match", "not_match"}
	ruleKeys        = []string{"name", "when", "action", "message"}
)

// fields are the values of one mapping by key in snake_case. An explicit null counts as absent. The methods that read a
// field note the first error in err.
type fields struct {
	node   *yaml.Node
	of     string // " of ID" of the intent, for messages
	values map[string]*yaml.Node
	err    error
}

// fields reads a mapping, warning about the keys that it does not know.
func (d *decoder) fields(node *yaml.Node, what, of string, known []string) (*fields, error) {
	if node.Kind != yaml.MappingNode {
		return nil, nodeError(filePath, node, "%s must be a mapping, not %s", what, kindName(node))
	}
	f := &fields{node: node, of: of, values: make(map[string]*yaml.Node)}
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], deref(pair[1])
		name, spelling := matchKey(key.Value, known)
		switch {
		case name == "":
			d.warn(key, "unknown key %q is kept and has no effect", key.Value)
		case !spelling:
			return nil, nodeError(filePath, key, "key %q is not known: %s is meant?", key.Value, name)
		case f.values[name] != nil:
			return nil, nodeError(filePath, key, "key %q stands twice, in two spellings", name)
		default:
			f.values[name] = value
		}
	}
	return f, nil
}

// matchKey finds the known key that a written one stands for. It also reports whether that is one of the two accepted
// spellings: a misspelled restriction must not pass as an unknown key, because what it restricts would be open.
func matchKey(written string, known []string) (name string, spelling bool) {
	for _, k := range known {
		if written == k || written == camelCase(k) {
			return k, true
		}
	}
	for _, k := range known {
		if fold(written) == fold(k) {
			return k, false
		}
	}
	return "", false
}

func fold(key string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- ", r) {
			return -1
		}
		return r
	}, strings.ToLower(key))
	return strings.TrimSuffix(letters, "s")
}

func camelCase(key string) string {
	parts := strings.Split(key, "_")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// get returns the value of a key, nil if absent or null.
func (f *fields) get(key string) *yaml.Node {
	if n := f.values[key]; n != nil && !isNull(n) {
		return n
	}
	return nil
}

// fail notes what is wrong with a node, unless something was before.
func (f *fields) fail(n *yaml.Node, format string, args ...any) {
	if f.err == nil {
		f.err = nodeError(filePath, n, format, args...)
	}
}

func (f *fields) id(in *Intent) {
	node := f.get("id")
	if node == nil {
		f.fail(f.node, "an intent has no id")
		return
	}
	if f.text("id", &in.ID); !ValidID(in.ID) {
		f.fail(node, "id %q must be a letter and then up to 63 letters, digits, dots, dashes or underscores", in.ID)
	}
	in.Line, f.of = node.Line, " of "+in.ID
}

func (f *fields) status(in *Intent) {
	word := string(InProgress)
	f.text("status", &word)
	var ok bool
	if in.Status, ok = ParseStatus(word); !ok {
		f.fail(f.get("status"), "status of %s must be TODO or PENDING, IN_PROGRESS, BLOCKED, DONE or COMPLETED, not %q", in.ID, word)
	}
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func (f *fields) text(key string, to *string) {
	switch node := f.get(key); {
	case node == nil:
	case !isText(node):
		f.fail(node, "%s%s must be text, not %s", key, f.of, kindName(node))
	default:
		*to = node.Value
	}
}

// items are those of a list, none where it is absent.
func (f *fields) items(key string) (items []*yaml.Node) {
	node := f.get(key)
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		f.fail(node, "%s%s must be a list, not %s", key, f.of, kindName(node))
		return nil
	}
	for _, item := range node.Content {
		items = append(items, deref(item))
	}
	return items
}

func (f *fields) list(key string, to *[]string) {
	for _, item := range f.items(key) {
		if !isText(item) {
			f.fail(item, "%s%s must be a list of text: here stands %s", key, f.of, kindName(item))
		}
		*to = append(*to, item.Value)
	}
}

func (f *fields) time(key string, to *time.Time) {
	node := f.get(key)
	if node == nil {
		return
	}
	var ok bool
	if *to, ok = parseTime(node.Value); node.Kind != yaml.ScalarNode || !ok {
		f.fail(node, "%s%s must be a time such as 2026-02-18T18:30:00Z", key, f.of)
	}
}

// scope compiles owned_scope, glob by glob so that an error names the glob's line.
func (f *fields) scope(in *Intent) {
	in.scope = &Scope{globs: slices.Clone(in.OwnedScope)}
	for i, glob := range in.OwnedScope {
		patterns, err := compileGlob(glob)
		if err != nil {
			f.fail(f.get("owned_scope").Content[i], "owned_scope%s: %v", f.of, err)
		}
		in.scope.patterns = append(in.scope.patterns, patterns...)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// deref follows an alias; the parser lets an alias only stand for a node that is not an alias itself.
func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

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
