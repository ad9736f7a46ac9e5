// Package clienthook reads what a client's hooks say of the client's own tools, and writes the answers, each in the client's
// own form. There is one reader and one emitter a client, over one [Event] and one [Answer].
//
// It promises that what a reader takes for a file or a command is what the client says of it, that an event which is not
// understood is an error and never a harmless one, and that an emitter prints no key that the client's contract does not
// list. It decides nothing, reads no file and keeps no state.
package clienthook

import "encoding/json"

// Client is a program whose agents have tools of their own, by its name on the command line.
type Client string

// The clients.
const (
	ClaudeCode Client = "claude-code"
	Codex      Client = "codex"
	Cursor     Client = "cursor"
	Copilot    Client = "copilot" // the command line and the cloud agent
	VSCode     Client = "vscode"
	Gemini     Client = "gemini"
	Cline      Client = "cline"
	Devin      Client = "devin"    // Devin Local, whose hooks are Claude's
	Windsurf   Client = "windsurf" // Cascade, which ended in July 2026
	OpenCode   Client = "opencode" // by the plugin that setup writes
)

// Phase is where in the life of a call, or of a session, an event stands.
type Phase string

// The phases.
const (
	Before Phase = "before" // the call is about to be made, and can be denied
	After  Phase = "after"  // it was made
	Failed Phase = "failed" // it was made and failed, or was not made
	Idle   Phase = "idle"   // a turn has begun or ended: no call of the agent's main line is under way
	End    Phase = "end"    // the session has ended
	Other  Phase = "other"  // anything else that a hook was installed for
)

// Event is one event of any client.
type Event struct {
	Client Client
	// Version is the client's, where the event has it.
	Version string
	Phase   Phase
	// Name is the event's in the client's words, which an answer may have to repeat.
	Name string
	// Session is the client's session, Agent the subagent in it ("" for the main line), Call the client's id of the call: ""
	// where the client gives none. Model is what the client runs, where it says so.
	Session, Agent, Call, Model string
	// Mode is the permission mode in the client's words. Cline has none: there it is [StructuredInput], or "".
	Mode string
	// Attended: a person is there to answer the client. No event says so; the environment of a hook may.
	Attended bool
	// Tool is the client's name of the tool.
	Tool string
	// Cwd is the absolute directory that the call is made in; "" where the event has none.
	Cwd string
	// Action is what the call does. It is nil only in events that are of no call.
	Action Action
	// Input is the tool's input as it came.
	Input json.RawMessage
	// Response is what the client says of a call that was made.
	Response Response
}

// Action is what a call does, as far as the client says. Paths are in the client's words: absolute or relative to the
// event's Cwd, with ~ or in the forms of Windows.
type Action interface{ action() }

// Write gives a file its whole content.
type Write struct{ Path, Content string }

// Edit replaces texts of a file, one after the other. None of them is empty: that would be a Write.
type Edit struct {
	Path     string
	Replaces []Replace
}

// Replace is one replacement. Without All, Old stands in the file exactly once.
type Replace struct {
	Old, New string
	All      bool
}

// Patch changes files as a patch in Codex' format says.
type Patch struct{ Text string }

// Change changes files in a way that the event does not tell, such as cells of a notebook.
type Change struct{ Paths []string }

// Delete removes files.
type Delete struct{ Paths []string }

// Read shows a file's lines From to From+Lines-1, counted from 1; with 0 in Lines, all that the client shows by itself.
type Read struct {
	Path        string
	From, Lines int
}

// Reads shows several files.
type Reads struct{ Files []Read }

// Look lists what is below a path, "" for the Cwd; with Contents it shows lines of the files there.
type Look struct {
	Path     string
	Contents bool
}

// Command runs a line in the client's shell.
type Command struct {
	Line string
	// Cwd is where the line starts, if it is not the event's.
	Cwd        string
	Background bool
	// TimeoutMS is in milliseconds; 0 is the client's own.
	TimeoutMS int64
}

// Governed is a call of one of this server's own tools, which is judged there.
type Governed struct{ Tool string }

// Foreign is a call that is neither of files nor of the shell, such as a search of the web or a tool of another server.
type Foreign struct{}

func (Write) action()    {}
func (Edit) action()     {}
func (Patch) action()    {}
func (Change) action()   {}
func (Delete) action()   {}
func (Read) action()     {}
func (Reads) action()    {}
func (Look) action()     {}
func (Command) action()  {}
func (Governed) action() {}
func (Foreign) action()  {}

// Response is what a client says of a call that was made.
type Response struct {
	// Paths are the files that it names as changed.
	Paths []string
	// ByPerson: a person changed what was to be written before it was.
	ByPerson bool
	// ExitCode is the command's; nil where it is not told.
	ExitCode *int
	// Background: the command goes on running, and this is only its start.
	Background bool
	// From and Lines are what a read has shown, counted from 1; 0 where it is not told.
	From, Lines int
}

// Verdict is what is to become of a call.
type Verdict int

// The verdicts.
const (
	// Pass leaves the call to the client's own permissions.
	Pass Verdict = iota
	// Allow lets it through without the client asking.
	Allow
	// Ask has the client ask its user.
	Ask
	// Deny stops it.
	Deny
)

// Answer is what the hook says.
type Answer struct {
	Verdict Verdict
	// Reason is for the model: why a call is denied or asked about.
	Reason string
	// Command takes the place of a command's line; "" leaves it.
	Command string
	// Note is for the model beside the call's result, where the client hands such notes on.
	Note string
}

// Output is what the hook's process does.
type Output struct {
	Stdout, Stderr []byte
	ExitCode       int
}

// Abilities are what a client's hook can do before a call.
type Abilities struct {
	// Rewrite: a command's line can be replaced.
	Rewrite bool
	// RewriteAllows: only together with Allow, after which the client does not ask.
	RewriteAllows bool
	// FailsClosed: an installed hook that crashes stops the call.
	FailsClosed bool
	// LimitSeconds is after how long the client gives an event up.
	LimitSeconds int
}
