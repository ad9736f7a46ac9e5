// Package mapping says which arguments of another server's tools are paths, commands and addresses, so that scope, ignore,
// secret paths, the command policy and rules hold for them.
//
// It promises that [Mapping.Targets] either gives every value that the arguments have in the mapped places, or an error, with
// which the call is refused: for a value of another type than expected, a member twice or in another letter case, too many or
// too deep. An argument that is absent or null is nothing.
//
// It does not promise that a server does with its arguments what their names say: checked arguments are no boundary.
package mapping

import "encoding/json"

// Effect says what the tools that a glob matches do with their arguments. A place is a path of members: path, a.b, files[] for
// each element of a list, edits[].path.
type Effect struct {
	Tool     string   `required:"true"` // a glob on the server's own names, as path.Match reads it
	Reads    []string // paths of files and directories, and file URLs
	Writes   []string // as well, of what is created or changed
	Deletes  []string // as well, of what is removed
	Commands []string // shell lines
	URLs     []string // addresses; one of a file is a path that is read
}

// Target is one value that a call names.
type Target struct {
	Argument string // where it stands, "edits[2].path"
	Value    string
}

// Targets are what a call names, each list in the order of the arguments' places.
type Targets struct {
	Reads, Writes, Deletes []Target // paths as the agent wrote them; those of file URLs decoded
	Commands               []Target
	URLs                   []Target // without those of files
}

// Mapping are compiled effects. It is immutable and safe for concurrent use.
type Mapping struct{}

// Compile compiles effects. The error names the effect and the place that does not parse.
func Compile(effects ...Effect) (*Mapping, error) { return &Mapping{}, nil }

// Maps reports whether any effect is for a tool.
func (m *Mapping) Maps(tool string) bool { return false }

// Targets finds what the arguments of a call of a tool name. All effects whose glob matches add up. The error wraps ErrArguments
// and is safe to print.
func (m *Mapping) Targets(tool string, arguments json.RawMessage) (Targets, error) {
	return Targets{}, nil
}

// Ready returns the effects that come with the program for a server.
func Ready(name string) ([]Effect, bool) { return nil, false }

// Names are those that Ready knows, sorted.
func Names() []string { return nil }
