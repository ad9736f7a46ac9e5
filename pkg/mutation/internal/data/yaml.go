package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// YAML is a verdict.Judge for .yaml and .yml files.
func YAML(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
	for _, f := range files {
		if v := checkDialect(f); v != nil {
			return *v
		}
	}
	return judge(ctx, files, limits, readYAML)
}

// dialects are spellings that YAML 1.1 and 1.2 do not read alike. They must stand equally often on both sides.
var dialects = sync.OnceValue(func() []dialect {
	return []dialect{
		{regexp.MustCompile("[\u0085\u2028\u2029]"), "a character that is a line break in YAML 1.1 only"},
		{regexp.MustCompile(`["'\]}]:[^\s,\]}]`), "a colon without a space behind a quoted key"},
		{regexp.MustCompile(`\\/`), `the escape "\/", which is known in YAML 1.2 only`},
		{regexp.MustCompile("\uFEFF"), "a byte order mark"},
		{regexp.MustCompile(`\r[^\n]|\r$`), "a carriage return without a line feed"},
		{regexp.MustCompile(`(?m)^[ \t]*\t`), "a tab in the indentation"},
	}
})

type dialect struct {
	pattern *regexp.Regexp
	what    string
}

// magic is a first line by which programs know a file, such as "#cloud-config".
var magic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A#[^\s#].*`) })

var yamlDirective = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^%`) })

func checkDialect(f verdict.File) *verdict.Verdict {
	for _, d := range dialects() {
		b, a := d.pattern.FindAllIndex(f.Before, -1), d.pattern.FindAllIndex(f.After, -1)
		if len(b) != len(a) {
			line := 0
			if len(a) > 0 {
				line = 1 + bytes.Count(f.After[:a[0][0]], []byte("\n"))
			}
			v := verdict.Unprovenf(f.Path, line, "%s was added or removed", d.what)
			return &v
		}
	}
	if !bytes.Equal(magic().Find(f.Before), magic().Find(f.After)) {
		v := verdict.Unprovenf(f.Path, 1, "the comment in the first line changed, by which programs know such files")
		return &v
	}
	if yamlDirective().Match(f.Before) || yamlDirective().Match(f.After) {
		v := verdict.Unprovenf(f.Path, 0, "a line begins with %%, which can change how the rest is read")
		return &v
	}
	return nil
}

// yamlReader makes values of the nodes of one file.
type yamlReader struct {
	ctx   context.Context
	depth int
	// fixed: anchors make the order of keys matter.
	fixed bool
}

func readYAML(ctx context.Context, _ string, content []byte, limits verdict.Limits) (value, error) {
	if err := yamlNesting(content, limits.Depth); err != nil {
		return value{}, err
	}
	all := value{kind: list, line: 1}
	d := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return value{}, err
		}
		r := &yamlReader{ctx: ctx, depth: limits.Depth, fixed: hasAnchors(&doc, 0)}
		v, err := r.value(&doc, 0)
		if err != nil {
			return value{}, err
		}
		all.items = append(all.items, v)
	}
}

// yamlNesting refuses what would nest too deeply, before the parser recurses: by its brackets, and by its indentation.
func yamlNesting(content []byte, depth int) error {
	open := 0
	for _, c := range content {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		if open > depth {
			return errNested
		}
	}
	return nil
}

func hasAnchors(n *yaml.Node, nested int) bool {
	if n.Anchor != "" || n.Kind == yaml.AliasNode || nested > 10_000 {
		return true
	}
	for _, k := range n.Content {
		if hasAnchors(k, nested+1) {
			return true
		}
	}
	return false
}

func (r *yamlReader) value(n *yaml.Node, nested int) (value, error) {
	if nested > r.depth {
		return value{}, errNested
	}
	if err := r.ctx.Err(); err != nil {
		return value{}, err
	}
	v := value{kind: scalar, line: n.Line}
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		v.kind = list
		for _, k := range n.Content {
			item, err := r.value(k, nested+1)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
	case yaml.MappingNode:
		return r.mapping(n, nested)
	case yaml.AliasNode:
		v.text = "alias " + n.Value
		return v, nil
	case yaml.ScalarNode:
		v.text = scalarText(n)
	}
	return r.dressed(n, v), nil
}

// dressed adds the anchor and an explicit tag of a node, which are part of what it is.
func (r *yamlReader) dressed(n *yaml.Node, v value) value {
	extra := ""
	if n.Anchor != "" {
		extra += " &" + n.Anchor
	}
	if n.Kind != yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 {
		extra += " " + n.Tag
	}
	if extra == "" {
		return v
	}
	if v.kind == scalar {
		v.text += extra
		return v
	}
	return value{kind: list, line: v.line, items: []value{{kind: scalar, text: extra, line: v.line}, v}}
}

func (r *yamlReader) mapping(n *yaml.Node, nested int) (value, error) {
	v := value{kind: object, line: n.Line, ordered: r.fixed}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.value(n.Content[i], nested+1)
		if err != nil {
			return value{}, err
		}
		item, err := r.value(n.Content[i+1], nested+1)
		if err != nil {
			return value{}, err
		}
		if key.kind != scalar {
			// A key that is no scalar stands with its value in their order.
			v.ordered = true
			item = value{kind: list, line: key.line, items: []value{key, item}}
			key.text = "complex key"
		} else if name := n.Content[i].Value; seen[name] {
			return value{}, fmt.Errorf("line %d: the key %s stands twice", key.line, short(name))
		} else {
			seen[name] = true
		}
		// Keys that versions read differently could be one and the same.
		v.ordered = v.ordered || !strings.HasPrefix(key.text, "string ")
		v.entries = append(v.entries, entry{key.text, n.Content[i].Value, item})
	}
	return r.dressed(n, v), nil
}

// plainString are plain scalars that every version and schema reads as strings, but for the words below: they begin as
// no number, date, merge or null does.
var plainString = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_/]`) })

// reserved words are booleans, nulls or numbers to some reader, in any case of letters.
var reserved = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "inf": true,
	"nan": true, "infinity": true, "none": true, "nil": true,
}

// scalarText is equal for two scalars only if all readers read them alike:
// strings by what they say, everything else by how it is spelled.
func scalarText(n *yaml.Node) string {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Sprintf("tagged %s %d %s", n.Tag, n.Style&^yaml.TaggedStyle, n.Value)
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return "string " + n.Value
	case plainString().MatchString(n.Value) && !reserved[strings.ToLower(n.Value)]:
		return "string " + n.Value
	}
	return "plain " + n.Value
}
