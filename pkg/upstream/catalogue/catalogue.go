// Package catalogue knows the tools of other servers as the operator has seen them.
//
// # Promise
//
//   - A tool is offered only as it was pinned: by the hash of its whole definition, at the first use of the server or when the
//     operator trusted it. What changed or came later is in quarantine, by name, until it is trusted.
//   - A pin file that cannot be read, or that others can write, trusts nothing and is never written over.
//   - Whatever a server sends, a book is bounded: [MaxTools] tools, [MaxDefinition] bytes each, [MaxListing] in all. What is
//     beyond is left out and named.
//   - What is said of tools and findings is safe to print, whatever is in them.
//
// # Non-promise
//
// Findings are made by pattern: none is no proof that a text is harmless. The first use trusts what a server says then. A
// program of the operator that writes in the user's directory can pin what it likes.
package catalogue

import (
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Limits of what is kept of one server.
const (
	MaxTools      = 1024      // and as many prompts, resources and templates
	MaxDefinition = 256 << 10 // bytes of one of them
	MaxListing    = 8 << 20   // bytes of all of them
	MaxName       = 64        // bytes of a tool's name with its prefix
)

// Tool is a tool of another server, as the server described it.
type Tool struct {
	Server, Own, Name  string          // Name is the prefix and Own
	Definition         json.RawMessage // as the server sent it, on one line; its name is its own
	Hash               string          // "sha256:…" of its canonical form
	Title, Description string          // as the server wrote them: not safe to print
	Input, Output      json.RawMessage // schemas; Output is nil where there is none
	Safe               bool            // the operator has classed it so
	Suggested          Annotations
	Findings           []Finding
}

// Annotations are what a server says of its tool. They are shown and never believed; nil is not said.
type Annotations struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// State is what a tool of a server is to us.
type State string

// The states of tools. Only those that are Trusted are offered.
const (
	Trusted    State = "trusted"
	Changed    State = "changed"    // since it was pinned; in quarantine
	New        State = "new"        // since the server was pinned; in quarantine
	Suspicious State = "finding"    // never trusted by hand, and something was found in it; in quarantine
	Gone       State = "gone"       // pinned, and no longer listed by the server
	Unchosen   State = "not chosen" // by the patterns of the operator
	LeftOut    State = "left out"   // for the Reason, which trust does not change
)

// Quarantined: the operator can trust it.
func (s State) Quarantined() bool { return s == Changed || s == New || s == Suspicious }

// Entry is one tool of a server's part of the catalogue.
type Entry struct {
	Tool
	State  State
	Reason string          // why it is not offered, a sentence for the operator; "" if it is
	Was    json.RawMessage // the pinned definition of one that is Changed
	// Reviewed: the operator has trusted this very definition by hand, whatever was found in it.
	Reviewed bool

	mentions []string
}

// Diff is what changed against the pinned definition, as lines for the operator, safe to print: a unified diff of description and
// schemas. It is "" for one that did not change.
func (e Entry) Diff() string {
	if e.Was == nil {
		return ""
	}
	return diff(e.Was, e.Definition)
}

// Shown is the definition as lines for the operator, safe to print.
func (e Entry) Shown() string { return shown(e.Definition) }

// Identity is what a server says that it is.
type Identity struct {
	Name         string `json:"name,omitempty"`
	Version      string `json:"version,omitempty"`
	Title        string `json:"title,omitempty"`
	Revision     string `json:"revision,omitempty"` // of the protocol
	Instructions string `json:"instructions,omitempty"`
}

// Listing is what a server says of itself. A list that is nil was not asked for: what was known of it stays.
type Listing struct {
	Identity                             Identity
	Capabilities                         json.RawMessage
	Tools, Prompts, Resources, Templates []json.RawMessage
}

// Report is what came of a look at a server. Names are the server's own.
type Report struct {
	First              bool     // the tools were pinned now
	New, Changed, Gone []string // as of this listing, against the pins
	Problems           []string // sentences: what was left out, and why
	Lists              []string // which lists are others than before: "tools", "prompts", "resources"
	// Listed are the hashes of the tools of this very listing that are clear. The book has what any process saw last.
	Listed map[string]string
}

// Part is the part of one server in the catalogue.
type Part struct {
	Definition upstream.Definition
	Entries    []Entry
	Err        error // of its book; it has no entries then
}

// Offered are the tools that are trusted, in order.
func Offered(parts []Part) []Tool {
	var tools []Tool
	for _, p := range parts {
		for _, e := range p.Entries {
			if e.State == Trusted {
				tools = append(tools, e.Tool)
			}
		}
	}
	return tools
}
