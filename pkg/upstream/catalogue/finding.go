package catalogue

import (
	"encoding/json"
)

// Kind is a sort of finding.
type Kind string

// The kinds of findings.
const (
	Invisible    Kind = "invisible characters"
	Instructions Kind = "instructions to the model"
	OtherTools   Kind = "another server's tool"
	Credentials  Kind = "places of credentials"
	Encoded      Kind = "encoded text"
	Secret       Kind = "a secret" // in arguments
)

// Finding is something suspicious in what a server says of itself, or in what goes out to it.
type Finding struct {
	Kind  Kind
	Where string // "description", "inputSchema.properties.path.description"; safe to print
	Text  string // an excerpt, never a secret; safe to print
}

// String is one line for people and logs.
func (f Finding) String() string { return string(f.Kind) + " in " + f.Where + ": " + f.Text }

// Inspect looks at a definition of a tool, prompt, resource or template: every string in it, names of properties too.
func Inspect(definition json.RawMessage) []Finding { return nil }

// Outgoing looks for secrets in the arguments of a call: by pattern, and by the values of the secret variables of environ.
type Outgoing struct{}

// NewOutgoing returns one for an environment (NAME=value).
func NewOutgoing(environ []string) *Outgoing { return &Outgoing{} }

// Secrets finds them. It shows none.
func (o *Outgoing) Secrets(arguments json.RawMessage) []Finding { return nil }
