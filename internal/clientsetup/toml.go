package clientsetup

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// tomlTable is a table of a TOML file, with where it stands: from its header to the end of its last value's line. The first
// one of a file has no header.
type tomlTable struct {
	path     []string
	from, to int
	values   []tomlValue
}

// tomlValue is a line `key = value`, without what stands behind it.
type tomlValue struct {
	key      []string
	from, to int
}

// tomlTables reads where the tables of a file stand.
func tomlTables(text []byte) ([]tomlTable, error) {
	var whole map[string]any
	if err := toml.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("%w: it is not TOML (%v); repair it, or use --print and add the lines by hand", ErrUnmergeable, err)
	}
	tables := []tomlTable{{}}
	var parser unstable.Parser
	parser.Reset(text)
	for parser.NextExpression() {
		of := parser.Expression()
		var key []string
		var first, last unstable.Range
		for it := of.Key(); it.Next(); {
			last = it.Node().Raw
			if key == nil {
				first = last
			}
			key = append(key, string(it.Node().Data))
		}
		from, to := int(first.Offset), int(last.Offset+last.Length)
		if of.Kind != unstable.KeyValue {
			tables = append(tables, tomlTable{path: key, from: bytes.LastIndexByte(text[:from], '\n') + 1, to: lineEnd(text, to)})
			continue
		}
		from, to = int(of.Raw.Offset), int(of.Raw.Offset+of.Raw.Length)
		in := &tables[len(tables)-1]
		in.values = append(in.values, tomlValue{key, from, to})
		in.to = lineEnd(text, to)
	}
	return tables, parser.Error()
}

func lineEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

// setTOML gives a table its values, each a pair of a key and any value. A table that is not there comes at the end.
func setTOML(text []byte, path []string, pairs ...[2]any) ([]byte, error) {
	tables, err := tomlTables(text)
	if err != nil {
		return nil, err
	}
	newline := newlineOf(text)
	at := slices.IndexFunc(tables, func(t tomlTable) bool { return slices.Equal(t.path, path) })
	if at < 0 {
		text = appendBlock(text, "["+tomlKey(path)+"]"+newline)
		at = len(tables)
	}
	for _, pair := range pairs {
		if tables, err = tomlTables(text); err != nil {
			return nil, err
		}
		table, key := tables[at], pair[0].(string)
		line := key + " = " + tomlText(pair[1])
		i := slices.IndexFunc(table.values, func(v tomlValue) bool { return slices.Equal(v.key, []string{key}) })
		switch {
		case i < 0:
			text = slices.Concat(text[:table.to], []byte(line+newline), text[table.to:])
		case !sameTOML(text[table.values[i].from:table.values[i].to], line):
			text = slices.Concat(text[:table.values[i].from], []byte(line), text[table.values[i].to:])
		}
	}
	_, err = tomlTables(text)
	return text, err
}

// takeTOML takes the tables out that match, each with the empty line before it.
func takeTOML(text []byte, match func(tomlTable) bool) []byte {
	tables, _ := tomlTables(text) // what cannot be read has none
	for _, table := range slices.Backward(tables) {
		if table.path == nil || !match(table) {
			continue
		}
		from := table.from
		if above := bytes.LastIndexByte(text[:max(from-1, 0)], '\n') + 1; len(bytes.TrimSpace(text[above:from])) == 0 {
			from = above
		}
		text = slices.Concat(text[:from], text[table.to:])
	}
	return text
}

// appendBlock puts lines at the end, behind an empty one.
func appendBlock(text []byte, lines string) []byte {
	newline := newlineOf(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(slices.Clone(text), newline...)
	}
	if len(text) > 0 {
		lines = newline + lines
	}
	return slices.Concat(text, []byte(lines))
}

func newlineOf(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func sameTOML(a []byte, b string) bool {
	var left, right map[string]any
	return toml.Unmarshal(a, &left) == nil && toml.Unmarshal([]byte(b), &right) == nil && reflect.DeepEqual(left, right)
}

var bareKey = lazy.Regexp(`^[A-Za-z0-9_-]+$`)

func tomlKey(path []string) string {
	var parts []string
	for _, name := range path {
		if !bareKey().MatchString(name) {
			name = tomlText(name)
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ".")
}

// tomlText is a string, a number, a truth or a list of them: JSON's forms of these are TOML's as well.
func tomlText(value any) string {
	return strings.ReplaceAll(string(encoded(value)), `","`, `", "`)
}
