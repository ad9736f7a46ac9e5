package hooks

import (
	"encoding/json"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Class says what kind of tool a call is for. The zero value counts as
// Destructive, so a tool that forgot to say is judged strictly.
type Class string

// The three classes of SPEC 2.
const (
	Safe        Class = "safe"
	Destructive Class = "destructive"
	Governance  Class = "governance"
)

// Knowledge is what a change proves about the content that it replaces.
type Knowledge int

const (
	// KnowsNothing: the change replaces content without quoting it, so the session must have seen all of it.
	KnowsNothing Knowledge = iota
	// KnowsBySearch: the change quotes what it replaces.
	KnowsBySearch
	// MadeByCommand: a command made it. It shows the session nothing of the file.
	MadeByCommand
)

// FileEffect is one file that a call touches. At AtTargets only the identity
// of the file is known; content, hashes and hunks are there from AtPlan on.
type FileEffect struct {
	// Change has its paths with symlinks resolved. Where Problem is set they are as asked for.
	change.Change
	// Requested is the path in the agent's words.
	Requested string
	// Exists says whether a file stood at Path when it was last looked at: when
	// it was resolved, and from AtPlan on when it was read.
	Exists bool
	// Directory: the effect looks at a directory, to list it or to run in it.
	Directory bool
	// Rehearsed: the line did it when it was rehearsed; it is known from AtPlan on.
	Rehearsed bool
	// Reproduced: with it the line only does what git makes of commits of people, which is no matter of a scope.
	Reproduced bool
	// Cleared: the gate has let the command write this path by its name before it ran, so what can be asked about has passed.
	Cleared bool
	// Unread: of an end that has a hash, the bytes are not there, because they are too many.
	Unread bool
	// BeforeSize and AfterSize are in bytes, where Unread.
	BeforeSize, AfterSize int64
	// Purpose is what a command changes the file for, in the operator's words; "" where the line itself says so.
	Purpose string
	// Problem is why the path cannot be used at all (outside the workspace, a directory, not a name). It is reported at
	// its own step of the gate, not before: a missing intent outranks it.
	Problem *refusal.Refusal

	// Protection is the strictest of any name on the way to the file, links and the source of a move included.
	Protection workspace.Protection

	// GitParts are directories that are repositories of git's, or become one with
	// this and other effects of the call; of a move at both ends.
	GitParts []workspace.GitPart

	// ExpectedHash is the agent's expected_content_hash, "" if none was given.
	ExpectedHash string
	Knowledge    Knowledge
}

// Mutates reports whether the effect changes the workspace.
func (f *FileEffect) Mutates() bool { return f.Op != change.Read }

// Paths returns the paths that the effect writes, or reads for a Read; of a move the source comes first.
func (f *FileEffect) Paths() []string {
	if f.From != "" {
		return []string{f.From, f.Path}
	}
	return []string{f.Path}
}

// HunksOf compares two contents; what is no text has no hunks.
func HunksOf(before, after []byte) [][4]int {
	was, is, ok := Texts(before, after)
	if !ok {
		return nil
	}
	return edit.Hunks(was, is)
}

// Texts are two contents as text, if both are.
func Texts(before, after []byte) (was, is string, ok bool) {
	old, errOld := workspace.Decode(before)
	now, errNow := workspace.Decode(after)
	return old.String, now.String, errOld == nil && errNow == nil
}

// CommandEffect is a command that a call means to run.
type CommandEffect struct {
	// Line is the command line as it goes to the shell.
	Line string
	// Cwd is the resolved working directory, "." for the workspace root.
	Cwd string
	// Shell is the program that runs it.
	Shell string
	// Dialect is what Reading was read in.
	Dialect    shell.Dialect
	Background bool
	// ByHand is what a person types in a terminal to run a line that was rehearsed; "" for any other.
	ByHand string
	// Timeout ends it.
	Timeout time.Duration
	// Reading has the simple commands that the line can run, and what hides others, or files that it writes; nil where
	// nothing read the line.
	Reading *shell.Reading
	// Contents looks at the files that the line names, once; nil where nobody
	// does. An approval of the line is for these contents.
	Contents func() Contents
}

// UpstreamEffect is a call of a tool that another server carries out.
type UpstreamEffect struct {
	// Server is the operator's name for it, and Tool the server's own name for the tool.
	Server, Tool string
	// Definition is the hash of all that the server said of the tool when it was trusted.
	Definition string
	// Arguments are those that go to the server, a JSON object.
	Arguments json.RawMessage
	// Digest is that of the arguments, whatever the order of their members: sha256: and 64 hex digits. It is computed once.
	Digest func() string
	// URLs are those of the arguments, as the operator's mapping says, without those of files. Commands are the command lines of
	// the arguments, and what each was read to run.
	URLs     []string
	Commands []UpstreamCommand
	// Secrets say what in the arguments looks like a secret, and where, without a part of it. OnSecrets is what is done about
	// them: "" notes them.
	Secrets   []string
	OnSecrets Policy
	// Names are what the tool calls the common arguments.
	Names Names
}

// UpstreamCommand is a command line that another server is given.
type UpstreamCommand struct {
	Line    string
	Reading *shell.Reading
}

// Contents are what stands at the paths of the workspace that a line names.
type Contents struct {
	Files []NamedFile
	// More counts what was not looked at: too many, too large, secret or not readable.
	More int
}

// NamedFile is a path with the hash of the file there, "" where there is none.
type NamedFile struct{ Path, Hash string }

// Effects is all that a call touches. The files of a command are the directory
// that it starts in, as a read, and its literal redirect targets.
type Effects struct {
	Files   []*FileEffect
	Command *CommandEffect
	// Upstream is what another server is asked to do; nil for what this one does.
	Upstream *UpstreamEffect
	// Selects is the intent that the call selects, "" for none.
	Selects string
	// Asks is what the operator has to say yes to, whatever else holds; nil for nothing. It is known from AtPlan on.
	Asks *refusal.Refusal
	// Preview: the call only shows what it would do. What would be asked is a note then.
	Preview bool
	// Answered: the call goes on with one of which everything was asked that is asked of each call of an intent.
	Answered bool
	// Proposes is what a call would have the operator change about the intents; nil where it is something else.
	Proposes *Proposal
}

// Proposal is a new intent, or what an intent is to own as well, in the agent's words.
type Proposal struct {
	// Name is that of a new intent.
	Name string
	// Paths are globs.
	Paths  []string
	Reason string
}
