package clientsetup

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// rooModes is a .roomodes file in YAML, and where in its text a mode can be added. The text itself is edited: the
// YAML library would lay the whole file out anew.
type rooModes struct {
	modes   []presentMode
	raw     []map[string]any
	line    int // the line, from 0, before which the mode is inserted
	indent  string
	heading bool // customModes itself is missing
	empty   bool // customModes is there without a mode, on the line before
}

// emptyModes is how an empty list is written, by Roo itself too.
var emptyModes = regexp.MustCompile(`^customModes:[ \t]*(\[[ \t]*\]|null|~)?`)

func parseRooModes(text []byte) (*rooModes, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%w: it is not YAML (%v); repair it, or use --print and add the lines by hand", ErrUnmergeable, err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(root.Content) == 0 {
		return &rooModes{line: len(lines), indent: "  ", heading: true}, nil
	}
	mapping := root.Content[0]
	if mapping.Kind != yaml.MappingNode || mapping.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("%w: it does not hold a block mapping with customModes; use --print and add the lines by hand", ErrUnmergeable)
	}
	modes := &rooModes{line: len(lines), indent: "  ", heading: true}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != "customModes" {
			continue
		}
		next := len(lines)
		if i+2 < len(mapping.Content) {
			next = mapping.Content[i+2].Line - 1
		}
		if list := mapping.Content[i+1]; isEmptyList(list) {
			return modes, modes.locateEmpty(mapping.Content[i], list, lines)
		}
		return modes, modes.locate(mapping.Content[i+1], lines, next)
	}
	return modes, nil
}

func isEmptyList(list *yaml.Node) bool {
	return list.Tag == "!!null" || list.Kind == yaml.SequenceNode && len(list.Content) == 0
}

// locateEmpty finds the line behind a list without modes, if the list stands on one line with its key.
func (m *rooModes) locateEmpty(key, list *yaml.Node, lines []string) error {
	rest := emptyModes.ReplaceAllString(lines[key.Line-1], "")
	if rest == lines[key.Line-1] || strings.TrimSpace(rest) != "" && !isComment(rest) || list.Line > key.Line {
		return fmt.Errorf("%w: customModes is written in a way that nothing can be added to; use --print and add the lines by hand", ErrUnmergeable)
	}
	m.heading, m.empty, m.line = false, true, key.Line
	return nil
}

func isComment(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t"), "#") && strings.TrimLeft(text, " \t") != text
}

// locate reads the list of modes and finds the line behind its last one; next is the line of the following key.
func (m *rooModes) locate(list *yaml.Node, lines []string, next int) error {
	m.heading = false
	if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || len(list.Content) == 0 {
		return fmt.Errorf("%w: customModes is not a list with one mode a line; use --print and add the lines by hand", ErrUnmergeable)
	}
	if err := errors.Join(list.Decode(&m.modes), list.Decode(&m.raw)); err != nil {
		return fmt.Errorf("%w: customModes is not a list of modes (%v)", ErrUnmergeable, err)
	}
	for i := range m.modes {
		m.modes[i].groups = groupNames(m.modes[i].Groups)
	}
	m.indent = strings.Repeat(" ", list.Column-1)
	for next < len(lines) && next > 0 && belongsToNext(lines[next-1]) {
		next--
	}
	m.line = next
	return nil
}

// belongsToNext tells the blank lines and comments before a key from the text of the last mode: a comment at the
// margin cannot be part of it.
func belongsToNext(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")
}

func (m *rooModes) find(slug string) *presentMode {
	for i := range m.modes {
		if m.modes[i].Slug == slug {
			return &m.modes[i]
		}
	}
	return nil
}

// insert adds the mode, and checks by parsing again that everything else is what it was.
func (m *rooModes) insert(text []byte, mode rooMode) ([]byte, error) {
	block, err := m.block(mode)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	if m.empty {
		lines[m.line-1] = "customModes:" + emptyModes.ReplaceAllString(lines[m.line-1], "")
	}
	before := strings.Join(lines[:m.line], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	after := []byte(before + block + strings.Join(lines[m.line:], ""))
	again, err := parseRooModes(after)
	if err != nil || again.find(mode.Slug) == nil || !reflect.DeepEqual(again.others(mode.Slug), m.others(mode.Slug)) {
		return nil, fmt.Errorf("%w: the mode cannot be added to this layout; use --print and add the lines by hand", ErrUnmergeable)
	}
	return after, nil
}

// others are all modes but ours, as the file has them.
func (m *rooModes) others(slug string) []map[string]any {
	return slices.DeleteFunc(append([]map[string]any{}, m.raw...), func(mode map[string]any) bool { return mode["slug"] == slug })
}

// block is the mode as lines of YAML, indented as the other modes are.
func (m *rooModes) block(mode rooMode) (string, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode([]rooMode{mode}); err != nil {
		return "", err
	}
	var block strings.Builder
	if m.heading {
		block.WriteString("customModes:\n")
	}
	for line := range strings.Lines(text.String()) {
		block.WriteString(m.indent + line)
	}
	return block.String(), nil
}
