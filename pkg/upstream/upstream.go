// Package upstream says what another MCP server is that stands behind this one, as its operator declared it.
//
// Definitions come from the settings, which promise that they can be used: names that read one way, patterns that compile,
// effects whose places parse. The package starts nothing, reads no file and expands no placeholder.
package upstream

import (
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// DefaultTimeout is that of a call for which the definition has none.
const DefaultTimeout = 2 * time.Minute

// Workspace is the placeholder in Command and Env for the absolute path of the workspace.
const Workspace = "${workspace}"

// Definition is one server as the operator declared it. It is not changed once it was checked.
type Definition struct {
	// Name is unique among the servers: a lower-case letter, then letters, digits and hyphens, 32 at most.
	Name string
	// Prefix stands before the names of its tools and prompts: NAME_ if the operator said nothing, "" for one server at most.
	Prefix string
	// Command is the program, a name in PATH, an absolute path or one that begins with ~/, and its arguments, in which Workspace
	// is not yet expanded; nil for an HTTP server.
	Command []string
	// URL is the address of an HTTP server: https, or http on this machine.
	URL string
	// Env are entries NAME=value that the program gets, Workspace not expanded. They are no secrets.
	Env []string
	// OfWorkspace: the workspace's own settings, which its operator has trusted, declare it. Its secrets and pins are others than
	// those of a server of the same name in another workspace.
	OfWorkspace bool
	// Origin says where it is declared, "~/config.yaml:3".
	Origin string
	// Choose are the patterns of tools that are offered, and Safe of those that change nothing; see Offers and IsSafe.
	Choose, Safe []string
	// Mapping names the ready effects (mapping.Ready), "" for none; Effects add to them.
	Mapping string
	Effects []mapping.Effect
	// Writes: the server may write the workspace, so each call of it is treated as a command.
	Writes bool
	// Writable are more places that a program may write, absolute, or with a leading ~/ that is not yet expanded.
	Writable []string
	// Searched: its tools are not listed but found by search_tools.
	Searched bool
	// Findings is what happens to tools and calls with a finding.
	Findings Policy
	// Keep: arguments and results are kept as artifacts.
	Keep bool
	// Timeout is that of a call, more than 0.
	Timeout time.Duration
}

// HTTP reports whether it is reached by an address and not started.
func (d Definition) HTTP() bool { return d.URL != "" }

// Policy is what happens where something was found.
type Policy string

// The policies, from the loosest to the strictest.
const (
	Warn   Policy = "warn"   // it is said in the result and the log
	Ask    Policy = "ask"    // a tool is in quarantine until the operator trusts it, a call is put to the operator
	Refuse Policy = "refuse" // a tool is not offered, a call is refused
)
