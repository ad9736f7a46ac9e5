// Package serverlist changes the list `servers` of a settings file.
//
// Promised: every byte that is not part of a change stays, comments and layout included; what it returns says the same as the
// file before, but for the servers that were added or taken. A file whose list cannot be changed so is refused (ErrLayout).
//
// Not promised: that the settings are right. Nothing but the list is looked at.
package serverlist

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrLayout: the file is no YAML, or its list is written in a way that cannot be changed without touching the rest.
var ErrLayout = errors.New("the list of servers cannot be changed")

// key is the list's.
const key = "servers"

// Item is a server as a settings file has it. What is empty is left out.
type Item struct {
	Name    string
	Command string
	Args    []string
	URL     string
	Mapping string
	Tools   []string
}

// Text is the item as lines of YAML, as they stand in a list that is not indented.
func (i Item) Text() string {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	field := func(name string, value *yaml.Node) {
		mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
	}
	for _, f := range []struct {
		name, value string
		list        []string
	}{{"name", i.Name, nil}, {"command", i.Command, nil}, {"args", "", i.Args}, {"url", i.URL, nil}, {"mapping", i.Mapping, nil}, {"tools", "", i.Tools}} {
		switch {
		case f.value != "":
			value := &yaml.Node{}
			value.SetString(f.value)
			if strings.ContainsAny(f.value, "\n") { // else it would be a block of lines
				value.Style = yaml.DoubleQuotedStyle
			}
			field(f.name, value)
		case len(f.list) > 0:
			list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, text := range f.list {
				list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle})
			}
			field(f.name, list)
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	_ = encoder.Encode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{mapping}}) // texts always encode
	return out.String()
}

// file is a settings file, read.
type file struct {
	text     []byte
	newline  string
	lines    [][]byte // with their ends
	root     *yaml.Node
	at, list *yaml.Node // the key and its value; nil where there is none
	all      map[string]any
}

func parse(text []byte) (*file, error) {
	f := &file{text: text, newline: "\n", lines: slices.Collect(bytes.Lines(text)), all: map[string]any{}}
	if bytes.Contains(text, []byte("\r\n")) {
		f.newline = "\r\n"
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%w: it is not YAML (%v)", ErrLayout, err)
	}
	if len(document.Content) == 0 {
		return f, nil
	}
	f.root = document.Content[0]
	if f.root.Kind == yaml.ScalarNode && f.root.ShortTag() == "!!null" && f.root.Value == "" {
		f.root = nil // only comments
		return f, nil
	}
	if err := f.root.Decode(&f.all); err != nil || f.root.Kind != yaml.MappingNode || f.root.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("%w: it is not a mapping of settings, a line each", ErrLayout)
	}
	for pair := range slices.Chunk(f.root.Content, 2) {
		if pair[0].Value == key {
			f.at, f.list = pair[0], pair[1]
		}
	}
	return f, nil
}

func (f *file) servers() []any {
	list, _ := f.all[key].([]any)
	return list
}

// value is what an item says.
func (i Item) value() any {
	var list []any
	_ = yaml.Unmarshal([]byte(i.Text()), &list) // what was encoded
	return list[0]
}

// Present says of the names in a file's list whether there is a server of that name, and whether it is this one. What an item
// does not have is not compared: the operator may have said more of it, such as which tools are safe.
func Present(text []byte, item Item) (there, same bool, err error) {
	f, err := parse(text)
	if err != nil {
		return false, false, err
	}
	for _, server := range f.servers() {
		if fields, _ := server.(map[string]any); fields["name"] == item.Name {
			said := item.value().(map[string]any)
			return true, !slices.ContainsFunc([]string{"command", "args", "url", "mapping", "tools"}, func(key string) bool {
				return !reflect.DeepEqual(fields[key], said[key])
			}), nil
		}
	}
	return false, false, nil
}

// Add appends items to the list, which is made at the end of the file where there is none.
func Add(text []byte, items ...Item) ([]byte, error) {
	f, err := parse(text)
	if err != nil || len(items) == 0 {
		return text, err
	}
	want := slices.Clone(f.servers())
	block := ""
	for _, item := range items {
		want = append(want, item.value())
		block += item.Text()
	}
	var after []byte
	switch {
	case f.list == nil:
		after = f.atEnd(key + ":\n" + indented(block, 2))
	case f.list.Kind == yaml.SequenceNode && len(f.list.Content) > 0 && f.list.Style&yaml.FlowStyle == 0:
		after = f.insert(f.end(f.list.Content[len(f.list.Content)-1]), indented(block, f.list.Column-1))
	case f.list.Kind == yaml.SequenceNode && len(f.list.Content) == 0 || f.list.ShortTag() == "!!null":
		after = f.instead(indented(block, f.at.Column+1))
	}
	return f.checked(after, want)
}

// Take takes an item out that stands in the list exactly as Add has put it there.
func Take(text []byte, item Item) (after []byte, taken bool, err error) {
	f, err := parse(text)
	if err != nil || f.list == nil || f.list.Kind != yaml.SequenceNode {
		return text, false, err
	}
	i := slices.IndexFunc(f.servers(), func(server any) bool { return reflect.DeepEqual(server, item.value()) })
	if i < 0 || len(f.list.Content) <= i {
		return text, false, nil
	}
	lines := strings.Split(strings.TrimSuffix(indented(item.Text(), f.list.Column-1), "\n"), "\n")
	from := f.list.Content[i].Line - 1
	for n, line := range lines {
		if from+n >= len(f.lines) || strings.TrimRight(string(f.lines[from+n]), "\r\n") != line {
			return text, false, nil
		}
	}
	kept := slices.Concat(f.lines[:from], f.lines[from+len(lines):])
	if want := slices.Delete(slices.Clone(f.servers()), i, i+1); len(want) > 0 {
		after, err = f.checked(bytes.Join(kept, nil), want)
		return after, err == nil, err
	}
	line := f.at.Line - 1
	above := line
	if line > 0 && from == line+1 && len(bytes.TrimSpace(f.lines[line-1])) == 0 {
		above--
	}
	after, err = f.checked(bytes.Join(slices.Delete(kept, above, line+1), nil), nil)
	return after, err == nil, err
}

// checked is the changed file, if it says what it said, and these servers.
func (f *file) checked(after []byte, want []any) ([]byte, error) {
	if after == nil {
		return nil, fmt.Errorf("%w: write it as a list with a line for each server, which begins with a dash", ErrLayout)
	}
	changed, err := parse(after)
	if err != nil {
		return nil, err
	}
	if len(want) > 0 {
		f.all[key] = want
	} else {
		delete(f.all, key)
	}
	if !reflect.DeepEqual(f.all, changed.all) {
		return nil, fmt.Errorf("%w: what stands before or behind it does not let it grow; write it by hand", ErrLayout)
	}
	return after, nil
}

func indented(block string, by int) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		out.WriteString(strings.Repeat(" ", by) + line)
	}
	return out.String()
}

// atEnd appends lines behind an empty one.
func (f *file) atEnd(block string) []byte {
	if len(bytes.TrimSpace(f.text)) > 0 {
		block = "\n" + block
	}
	return f.insert(len(f.lines), block)
}

// insert puts lines before the one with this index.
func (f *file) insert(line int, block string) []byte {
	before := bytes.Join(f.lines[:line], nil)
	if n := len(before); n > 0 && before[n-1] != '\n' {
		block = "\n" + block
	}
	return slices.Concat(before, []byte(strings.ReplaceAll(block, "\n", f.newline)), bytes.Join(f.lines[line:], nil))
}

// end is the index of the line behind a block item: where a text over several lines ends does not stand in its node.
func (f *file) end(item *yaml.Node) int {
	end := deepest(item)
	for next := end; next < len(f.lines); next++ {
		line := bytes.TrimRight(f.lines[next], " \t\r\n")
		if len(line) == 0 {
			continue
		}
		if len(line)-len(bytes.TrimLeft(line, " ")) < f.list.Column {
			break
		}
		end = next + 1
	}
	return end
}

func deepest(n *yaml.Node) int {
	line := n.Line
	for _, child := range n.Content {
		line = max(line, deepest(child))
	}
	return line
}

// instead puts a block in the place of an empty list, or of nothing.
func (f *file) instead(block string) []byte {
	line := f.at.Line - 1
	text := bytes.TrimRight(f.lines[line], "\r\n")
	head, rest, _ := bytes.Cut(text, []byte(key+":"))
	comment := bytes.IndexByte(rest, '#')
	if comment < 0 {
		comment = len(rest)
	}
	if value := strings.ReplaceAll(string(bytes.TrimSpace(rest[:comment])), " ", ""); f.list.Line-1 != line && value == "" {
		return nil // it begins on a line of its own
	} else if !slices.Contains([]string{"", "[]", "null", "~"}, value) {
		return nil
	}
	opening := string(head) + key + ":"
	if comment < len(rest) {
		opening += " " + string(rest[comment:])
	}
	lines := slices.Clone(f.lines)
	lines[line] = []byte(opening + f.newline)
	return (&file{lines: lines, newline: f.newline}).insert(line+1, block)
}
