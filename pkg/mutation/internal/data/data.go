// Package data judges changes of JSON, YAML and TOML: by value, not by layout.
//
// It promises that what it calls proven is read as the same value by every reader that follows the format, whichever of
// the versions in use it follows: the same strings, numbers in the same spelling (TOML: of the same kind and value),
// lists in the same order, and the same keys, whose order means nothing in these formats. Where versions or readers
// differ, and where a key stands twice, nothing is proven. What a program makes of the order of keys all the same is
// not known here.
package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

var errNested = errors.New("it is nested too deeply to be compared")

// reader makes YAML's tree of a document of any of the formats, or says why it cannot be compared.
type reader func(ctx context.Context, path string, content []byte, limits verdict.Limits) (*yaml.Node, error)

// text is a string in such a tree.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: value}
}

// judge compares each file by itself.
func judge(ctx context.Context, files []verdict.File, limits verdict.Limits, read reader) verdict.Verdict {
	for _, f := range files {
		if v, unpaired := f.Unpaired("who reads it at"); unpaired {
			return v
		}
		before, err := read(ctx, f.Path, f.Before, limits)
		if err != nil {
			return verdict.Unprovenf(f.Path, 0, "before the change: %v", err)
		}
		after, err := read(ctx, f.Path, f.After, limits)
		if err != nil {
			return verdict.Unprovenf(f.Path, 0, "%v", err)
		}
		c := comparison{isPackage: path.Base(f.Path) == "package.json"}
		if d := c.differ(before, after, ""); d != nil {
			if d.line == 0 && d.key != "" {
				d.line = lineOfKey(f.After, d.key)
			}
			return verdict.Unprovenf(f.Path, d.line, "%s%s", where(d.path), d.why)
		}
	}
	return verdict.Verdict{Evidence: verdict.Proven}
}

// difference is the first place where two documents are not the same.
type difference struct {
	path string
	key  string // the last one of path
	line int    // 0 where it is not known
	why  string
}

// comparison walks two trees at once.
type comparison struct {
	isPackage bool // npm's: under two of its keys the first key that fits is taken
	fixed     bool // anchors make the order of keys matter
}

func (c *comparison) differ(before, after *yaml.Node, at string) *difference {
	was, is := kindOf(before), kindOf(after)
	switch {
	case was != is:
		return &difference{path: at, line: after.Line, why: fmt.Sprintf("the %s became a %s", was, is)}
	case meaning(before) != meaning(after):
		return &difference{path: at, line: after.Line, why: "the value changed"}
	case is == "object":
		return c.differEntries(before, after, at)
	case after.Kind == yaml.DocumentNode:
		c.fixed = hasAnchors(before) || hasAnchors(after)
	}
	b, a := before.Content, after.Content
	for i := range min(len(b), len(a)) {
		if d := c.differ(b[i], a[i], at+"["+strconv.Itoa(i)+"]"); d != nil {
			return d
		}
	}
	if len(b) != len(a) {
		return &difference{path: at, line: after.Line, why: fmt.Sprintf("the list has %d items instead of %d", len(a), len(b))}
	}
	return nil
}

// kindOf is that of a node in words.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode, yaml.DocumentNode:
		return "list"
	}
	return "value"
}

func hasAnchors(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAnchors)
}

// entry is a key with its value. name is what the key is compared by.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entriesOf also tells whether their order counts: keys that versions read differently could be one and the same.
func entriesOf(n *yaml.Node) (list []entry, ordered bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry{"complex key", n.Content[i], n.Content[i+1]}
		if kindOf(e.key) == "value" {
			e.name = meaning(e.key)
		}
		ordered = ordered || !strings.HasPrefix(e.name, "string ")
		list = append(list, e)
	}
	return list, ordered
}

func (c *comparison) differEntries(before, after *yaml.Node, at string) *difference {
	b, ordered := entriesOf(before)
	a, also := entriesOf(after)
	ordered = ordered || also || c.fixed || c.isPackage && (strings.HasPrefix(at, "exports") || strings.HasPrefix(at, "imports"))
	if !ordered {
		byName := func(x, y entry) int { return cmp.Compare(x.name, y.name) }
		slices.SortFunc(b, byName)
		slices.SortFunc(a, byName)
	}
	for i := range min(len(b), len(a)) {
		if b[i].name != a[i].name {
			return &difference{path: at, line: a[i].value.Line, why: missing(b, a, ordered)}
		}
		key := a[i].key.Value
		in := key
		if at != "" {
			in = at + "." + key
		}
		if d := cmp.Or(c.differ(b[i].key, a[i].key, in), c.differ(b[i].value, a[i].value, in)); d != nil {
			d.key = cmp.Or(d.key, key)
			return d
		}
	}
	if len(b) != len(a) {
		return &difference{path: at, line: after.Line, why: missing(b, a, ordered)}
	}
	return nil
}

func missing(before, after []entry, ordered bool) string {
	// lacks gives a key of one side that the other has not.
	lacks := func(list, other []entry) int {
		return slices.IndexFunc(list, func(e entry) bool {
			return !slices.ContainsFunc(other, func(o entry) bool { return o.name == e.name })
		})
	}
	if i := lacks(after, before); i >= 0 {
		return "the key " + short(after[i].key.Value) + " was added"
	}
	if i := lacks(before, after); i >= 0 {
		return "the key " + short(before[i].key.Value) + " was removed"
	}
	if ordered {
		return "the order of the keys changed, and may mean something here"
	}
	return "the keys are not the same"
}

// shownRunes is how much of a value a reason shows.
const shownRunes = 40

func short(text string) string {
	if runes := []rune(text); len(runes) > shownRunes {
		text = string(runes[:shownRunes]) + "…"
	}
	return strconv.Quote(text)
}

func where(at string) string {
	if at == "" {
		return ""
	}
	if runes := []rune(at); len(runes) > 2*shownRunes {
		at = "…" + string(runes[len(runes)-2*shownRunes:])
	}
	return "at " + strconv.Quote(at) + " "
}

// lineOfKey is the first line of TOML that begins with a key, in a table or its heading; 0 if there is none.
func lineOfKey(content []byte, key string) int {
	found := regexp.MustCompile(`(?m)^\s*(\[+[^\]\n]*)?["']?` + regexp.QuoteMeta(key) + `["']?\s*[.=\]]`).FindIndex(content)
	if found == nil {
		return 0
	}
	return 1 + strings.Count(string(content[:found[1]]), "\n")
}
