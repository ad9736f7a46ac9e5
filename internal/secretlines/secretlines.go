// Package secretlines is the format of the files in which other servers have their secrets: a line for each, NAME=value for a program's
// environment, Name: value for the headers of requests to an address. Blank lines and those that begin with # say nothing.
//
// It promises that what [Variable] and [Header] take goes into an environment or a request as it is, and replaces nothing that the client
// of the protocol sets itself. It reads and writes no file.
package secretlines

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

var variable = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Variable reads a line of a program's file, which is without its end.
func Variable(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, "=")
	return name, value, ok && variable().MatchString(name) && !strings.ContainsAny(value, "\x00\r\n")
}

// taken are the headers that the client of the protocol sets itself.
const taken = "Host Content-Length Content-Type Transfer-Encoding Connection Accept Mcp-Session-Id Mcp-Protocol-Version Last-Event-Id"

// Header reads a line of an address's file. The name comes in its canonical form, and the value without blanks around it.
func Header(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	name, value = http.CanonicalHeaderKey(name), strings.TrimSpace(value)
	for own := range strings.FieldsSeq(taken) {
		ok = ok && name != own
	}
	return name, value, ok && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value)
}

// Says reports whether a line says anything.
func Says(line string) bool { return line != "" && !strings.HasPrefix(line, "#") }
