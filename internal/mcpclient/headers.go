package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// annotation is the keyword of a tool's schema for a parameter that is sent as a header too (2026-07-28, Streamable HTTP).
const annotation = "x-mcp-header"

// maxSafe is the greatest integer that JavaScript has exactly.
const maxSafe = 1<<53 - 1

// parameter is one that is sent as a header, without Mcp-Param-.
type parameter struct{ header, value string }

// mirrored are the parameters of a call that its tool's schema wants as headers. It is an error if the schema asks for it in a way
// that the protocol does not have.
func mirrored(schema, arguments json.RawMessage) ([]parameter, error) {
	if !bytes.Contains(schema, []byte(annotation)) && !bytes.ContainsRune(schema, '\\') {
		return nil, nil
	}
	m := mirror{names: map[string]bool{}}
	if err := m.schema(schema, arguments, true, false); err != nil {
		return nil, fmt.Errorf("%s: %w", annotation, err)
	}
	return m.found, nil
}

type mirror struct {
	names map[string]bool // in lower case
	found []parameter
}

// schema looks through one subschema with the value that it describes. reached says that only properties lead to it.
func (m *mirror) schema(schema, value json.RawMessage, reached, property bool) error {
	return rawjson.Each(schema, func(d *jsontext.Decoder, name string) error {
		each, err := rawjson.Value(d, schema)
		if err != nil {
			return err
		}
		switch {
		case name == annotation && (!reached || !property):
			return fmt.Errorf("it stands where only a property of properties may have it")
		case name == annotation:
			return m.header(schema, each, value)
		case name == "properties":
			return m.properties(each, value, reached)
		case name == "const", name == "enum", name == "default", name == "examples":
			return nil // values, not schemas
		default:
			return m.unreached(each)
		}
	})
}

// properties looks through the subschemas of an object's properties.
func (m *mirror) properties(schemas, value json.RawMessage, reached bool) error {
	if len(schemas) == 0 || schemas[0] != '{' {
		return nil
	}
	return rawjson.Each(schemas, func(d *jsontext.Decoder, name string) error {
		each, err := rawjson.Value(d, schemas)
		if err != nil || each[0] != '{' {
			return err
		}
		var of json.RawMessage
		if len(value) > 0 && value[0] == '{' {
			of = member(value, name)
		}
		return m.schema(each, of, reached, true)
	})
}

// unreached looks through what other keywords hold, where the annotation must not stand.
func (m *mirror) unreached(value json.RawMessage) error {
	switch value[0] {
	case '{':
		return m.schema(value, nil, false, false)
	case '[':
		elements, err := rawjson.Elements(value, maxEntries)
		if err != nil {
			return err
		}
		for _, element := range elements {
			if err := m.unreached(element); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *mirror) header(schema, named, value json.RawMessage) error {
	name, is := rawjson.Text(named)
	if !is || !isToken(name) {
		return fmt.Errorf("%s is no name of a header", shown(string(named)))
	}
	lower := strings.ToLower(name)
	if m.names[lower] {
		return fmt.Errorf("%q is wanted twice", name)
	}
	m.names[lower] = true
	kind, _ := rawjson.Text(member(schema, "type"))
	if kind != "string" && kind != "integer" && kind != "boolean" {
		return fmt.Errorf("%q is for a parameter that is no string, integer or boolean", name)
	}
	if text, is := asText(kind, value); is {
		m.found = append(m.found, parameter{name, headerValue(text)})
	}
	return nil
}

// asText is a parameter's value as the text of a header. One that is missing or not of its type is the server's to refuse.
func asText(kind string, value json.RawMessage) (text string, is bool) {
	switch text, is = rawjson.Text(value); kind {
	case "boolean":
		return string(value), string(value) == "true" || string(value) == "false"
	case "integer":
		n, err := strconv.ParseFloat(string(value), 64)
		return strconv.FormatInt(int64(n), 10), err == nil && n == float64(int64(n)) && n >= -maxSafe && n <= maxSafe
	}
	return text, is
}

// headerValue is a text in the form that a header can carry.
func headerValue(text string) string {
	safe := strings.TrimSpace(text) == text && !(strings.HasPrefix(text, "=?base64?") && strings.HasSuffix(text, "?="))
	for i := range len(text) {
		safe = safe && (text[i] >= ' ' && text[i] <= '~' || text[i] == '\t')
	}
	if safe {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// isToken reports whether a text is a token of RFC 9110.
func isToken(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return text != ""
}
