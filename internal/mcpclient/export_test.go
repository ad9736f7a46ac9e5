package mcpclient

import (
	"encoding/json"
)

// Mirrored are the headers of a call, name and value in turn.
func Mirrored(schema, arguments json.RawMessage) (headers []string, err error) {
	found, err := mirrored(schema, arguments)
	for _, p := range found {
		headers = append(headers, p.header, p.value)
	}
	return headers, err
}

// HeaderValue is what a header carries for a text.
func HeaderValue(text string) string { return headerValue(text) }

// Parse reads a message and gives its result.
func Parse(raw []byte) (json.RawMessage, error) {
	m, err := parse(raw)
	return m.result, err
}
