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

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// YAML is a verdict.Judge for .yaml and .yml files.
func YAML(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
	for _, f := range files {
		if line, why := dialect(f); why != "" {
			return verdict.Unprovenf(f.Path, line, "%s", why)
		}
	}
	return judge(ctx, files, limits, readYAML)
}

// spelling is one that YAML 1.1 and 1.2 do not read alike.
type spelling struct {
	pattern *regexp.Regexp
	what    string
}

// spellings must stand equally often on both sides.
var spellings = sync.OnceValue(func() []spelling {
	return []spelling{
		{regexp.MustCompile("[\u0085\u2028\u2029]"), "a character that is a line break in YAML 1.1 only"},
		{regexp.MustCompile(`["'\]}]:[^\s,\]}]`), "a colon without a space behind a quoted key"},
		{regexp.MustCompile(`\\/`), `the escape "\/", which is known in YAML 1.2 only`},
		{regexp.MustCompile("\uFEFF"), "a byte order mark"},
		{regexp.MustCompile(`\r[^\n]|\r$`), "a carriage return without a line feed"},
		{regexp.MustCompile(`(?m)^[ \t]*\t`), "a tab in the indentation"},
	}
})

// dialect says why the versions of YAML may not read both sides alike, or "".
func dialect(f verdict.File) (line int, why string) {
	for _, s := range spellings() {
		b, a := s.pattern.FindAllIndex(f.Before, -1), s.pattern.FindAllIndex(f.After, -1)
		switch {
		case len(b) == len(a):
			continue
		case len(a) > 0:
			line = 1 + bytes.Count(f.After[:a[0][0]], []byte("\n"))
		}
		return line, s.what + " was added or removed"
	}
	if magic(f.Before) != magic(f.After) {
		return 1, "the comment in the first line changed, by which programs know such files"
	}
	for _, side := range [][]byte{f.Before, f.After} {
		if bytes.HasPrefix(side, []byte("%")) || bytes.Contains(side, []byte("\n%")) {
			return 0, "a line begins with %, which can change how the rest is read"
		}
	}
	return 0, ""
}

// magic is a first line by which programs know a file, such as "#cloud-config".
func magic(content []byte) string {
	line, _, _ := strings.Cut(string(content), "\n")
	if len(line) < 2 || line[0] != '#' || strings.IndexByte("# \t\r\f", line[1]) >= 0 {
		return ""
	}
	return line
}

func readYAML(ctx context.Context, _ string, content []byte, limits verdict.Limits) (*yaml.Node, error) {
	if err := yamlNesting(content, limits.Depth); err != nil {
		return nil, err
	}
	all := &yaml.Node{Kind: yaml.SequenceNode, Line: 1}
	d := yaml.NewDecoder(bytes.NewReader(content))
	for {
		document := new(yaml.Node)
		err := d.Decode(document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err == nil {
			err = checkYAML(ctx, document, limits.Depth)
		}
		if err != nil {
			return nil, err
		}
		all.Content = append(all.Content, document)
	}
}

// yamlNesting refuses what would nest too deeply by its brackets, before the parser recurses.
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

// checkYAML refuses a tree that is too deep, and one with a key that stands twice.
func checkYAML(ctx context.Context, n *yaml.Node, depth int) error {
	if depth < 0 {
		return errNested
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && kindOf(part) == "value" {
			if seen[part.Value] {
				return fmt.Errorf("line %d: the key %s stands twice", part.Line, short(part.Value))
			}
			seen[part.Value] = true
		}
		if err := checkYAML(ctx, part, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// reserved words are booleans, nulls or numbers to some reader, in any case of letters.
var reserved = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "inf": true,
	"nan": true, "infinity": true, "none": true, "nil": true,
}

// meaning is equal for two nodes only if all readers take them for the same, but for what is in them: strings by what
// they say, everything else by how it is spelled, each with its anchor and its explicit tag.
func meaning(n *yaml.Node) (text string) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Anchor != "" {
		text = "&" + n.Anchor + " "
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return "alias " + n.Value
	case n.Style&yaml.TaggedStyle != 0:
		return text + fmt.Sprintf("tagged %s %d %s", n.Tag, n.Style&quoted, n.Value)
	case n.Kind != yaml.ScalarNode:
		return text
	case n.Style&quoted != 0, isString(n.Value):
		return text + "string " + n.Value
	}
	return text + "plain " + n.Value
}

// isString is true of plain scalars that every version and schema reads as strings: they begin as no number, date, merge or
// null does.
func isString(plain string) bool {
	return plain != "" && (plain[0]|0x20 >= 'a' && plain[0]|0x20 <= 'z' || plain[0] == '_' || plain[0] == '/') && !reserved[strings.ToLower(plain)]
}
