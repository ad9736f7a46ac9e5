package intent

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Bounds of one intents file. What is larger is refused: a bomb of aliases, or of nesting, must not cost the server.
const (
	maxFileBytes = 1 << 20
	maxNodes     = 100_000
	maxDepth     = 64
)

// parseYAML reads the one document of a file as nodes; nil if the file has none. Every mapping in it has unique keys.
func parseYAML(file string, data []byte) (root *yaml.Node, err error) {
	// The parser panics on its own inconsistencies; a file of a cloned repository must not end the server with it.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, &UnreadableError{File: file, Reason: fmt.Sprintf("the YAML parser failed: %v", r)}
		}
	}()
	if err := checkCharacters(file, data); err != nil {
		return nil, err
	}
	lines := &lineReader{rest: data}
	decoder := yaml.NewDecoder(lines)
	var doc, extra yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, syntaxError(file, data, lines.read, err)
	}
	if err := decoder.Decode(&extra); err == nil {
		return nil, &UnreadableError{File: file, Line: extra.Line, Column: max(extra.Column, 1),
			Reason: "a second YAML document begins here: the file must have one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, data, lines.read, err)
	}
	check := treeCheck{file: file}
	if err := check.node(&doc, 0); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

// treeCheck walks a tree once, without following aliases.
type treeCheck struct {
	file  string
	nodes int
}

func (c *treeCheck) node(n *yaml.Node, depth int) error {
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return nodeError(c.file, n, "more than %d values or %d levels", maxNodes, maxDepth)
	}
	if n.Kind == yaml.MappingNode {
		if err := c.uniqueKeys(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := c.node(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *treeCheck) uniqueKeys(mapping *yaml.Node) error {
	seen := make(map[string]int, len(mapping.Content)/2)
	for pair := range slices.Chunk(mapping.Content, 2) {
		key := pair[0]
		switch {
		case key.Kind != yaml.ScalarNode:
			return nodeError(c.file, key, "a key must be plain text")
		case key.Tag == "!!merge":
			return nodeError(c.file, key, "merge keys (<<) are not supported: write the values out")
		case seen[key.Value] != 0:
			return nodeError(c.file, key, "key %q stands here twice, first in line %d", key.Value, seen[key.Value])
		}
		seen[key.Value] = key.Line
	}
	return nil
}

func nodeError(file string, n *yaml.Node, format string, args ...any) *UnreadableError {
	return &UnreadableError{File: file, Line: n.Line, Column: n.Column, Reason: fmt.Sprintf(format, args...)}
}

// kindName names the kind of a value for people.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number (quote it if text is meant)"
	case "!!bool":
		return "true or false (quote it if text is meant)"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date (quote it if text is meant)"
	default:
		return "a value tagged " + n.Tag
	}
}
