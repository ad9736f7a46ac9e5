package external

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The names of the two events and of the tools, as scripts know them.
const (
	preToolUse  = "PreToolUse"
	postToolUse = "PostToolUse"

	toolWrite = "Write"
	toolEdit  = "Edit"
	toolBash  = "Bash"
	toolRead  = "Read"
)

// mcpName is how a client of MCP names a tool of this server.
func mcpName(tool string) string { return "mcp__orchestra__" + tool }

// event is what a program reads; see the package's comment.
type event struct {
	SessionID      string    `json:"session_id"`
	TranscriptPath string    `json:"transcript_path"`
	Cwd            string    `json:"cwd"`
	PermissionMode string    `json:"permission_mode"`
	HookEventName  string    `json:"hook_event_name"`
	ToolName       string    `json:"tool_name"`
	ToolInput      any       `json:"tool_input"`
	ToolResponse   any       `json:"tool_response,omitempty"`
	ToolUseID      string    `json:"tool_use_id"`
	Orchestra      orchestra `json:"orchestra"`
}

// orchestra is what that contract has no place for.
type orchestra struct {
	Tool       string      `json:"tool"`
	Class      hooks.Class `json:"class"`
	IntentID   string      `json:"intent_id"`
	IntentName string      `json:"intent_name"`
	Client     string      `json:"client"`
	ModelID    string      `json:"model_id"`
	// Path is relative to the workspace; From is where a moved file came from.
	Path string `json:"path,omitempty"`
	From string `json:"from,omitempty"`
	// Kind is the planned effect or, after the call, what became of it.
	Kind       string `json:"kind,omitempty"`
	BeforeHash string `json:"before_hash,omitempty"`
	AfterHash  string `json:"after_hash,omitempty"`
	RecordID   string `json:"record_id,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	// Server is another server that carries the call out, and ServerTool its own name for the tool.
	Server     string `json:"server,omitempty"`
	ServerTool string `json:"server_tool,omitempty"`
}

type writeInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

type editInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

type bashInput struct {
	Command         string `json:"command"`
	Description     string `json:"description"`
	RunInBackground bool   `json:"run_in_background"`
}

type readInput struct {
	FilePath string `json:"file_path"`
}

type fileResponse struct {
	FilePath string `json:"filePath,omitempty"`
	Success  bool   `json:"success"`
}

type bashResponse struct {
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	Interrupted bool   `json:"interrupted"`
	IsImage     bool   `json:"isImage"`
}

// describer makes the events of one call.
type describer struct {
	workspace *workspace.Workspace
	call      *hooks.Call
	moment    string
}

func (d describer) event(tool string, input any, o orchestra) event {
	c := d.call
	o.Tool, o.Class, o.IntentID = c.Tool, c.Class, c.RecordedIntent()
	o.Client = c.Caller.ClientName
	o.ModelID, _ = c.Model()
	if c.Intent != nil {
		o.IntentName = c.Intent.Name
	}
	e := event{
		Cwd: d.workspace.Dir(), PermissionMode: "default", HookEventName: d.moment,
		ToolName: tool, ToolInput: input, ToolUseID: c.ID, Orchestra: o,
	}
	if c.Session != nil {
		e.SessionID = c.Session.PublicID()
	}
	return e
}

func (d describer) path(relative string) string {
	return filepath.Join(d.workspace.Dir(), filepath.FromSlash(relative))
}

// planned are the events before a call.
func (d describer) planned() []event {
	if c := d.call.Effects.Command; c != nil {
		return []event{d.command(c)}
	}
	if u := d.call.Effects.Upstream; u != nil {
		return []event{d.upstream(u)}
	}
	var events []event
	for _, f := range d.call.Effects.Files {
		switch {
		case f.Knowledge == hooks.MadeByCommand: // the command was asked about, once; not each of its files
		case f.Mutates():
			events = append(events, d.change(&f.Change, f.Op.Verb(), f.Knowledge)...)
		case !f.Directory && d.call.Class == hooks.Safe:
			events = append(events, d.event(toolRead, readInput{d.path(f.Path)}, orchestra{Path: f.Path, Kind: f.Op.Verb()}))
		}
	}
	if len(events) == 0 {
		events = []event{d.event(mcpName(d.call.Tool), struct{}{}, orchestra{})}
	}
	return events
}

// upstream is a call of another server, with the arguments that go to it.
func (d describer) upstream(u *hooks.UpstreamEffect) event {
	return d.event(mcpName(d.call.Tool), u.Arguments, orchestra{Server: u.Server, ServerTool: u.Tool})
}

func (d describer) command(c *hooks.CommandEffect) event {
	e := d.event(toolBash, bashInput{Command: c.Line, RunInBackground: c.Background}, orchestra{})
	e.Cwd = d.path(c.Cwd)
	return e
}

// change are the events of one file, before or after it was changed.
func (d describer) change(c *change.Change, kind string, knows hooks.Knowledge) []event {
	o := orchestra{Path: c.Path, From: c.From, Kind: kind, BeforeHash: c.Before.Hash, AfterHash: c.After.Hash}
	before, after := textOf(c.Before.Bytes), textOf(c.After.Bytes)
	removal := o
	removal.Path, removal.From = c.Source(), ""
	removed := d.event(toolEdit, editInput{FilePath: d.path(c.Source()), OldString: before}, removal)
	written := d.event(toolWrite, writeInput{d.path(c.Path), after}, o)
	switch {
	case c.From != "":
		return []event{removed, written}
	case c.After.Hash == "":
		return []event{removed}
	case c.Before.Hash == "" || knows == hooks.KnowsNothing: // the new content replaces the old without quoting it
		return []event{written}
	}
	before, after = stretch(before, after)
	return []event{d.event(toolEdit, editInput{FilePath: d.path(c.Path), OldString: before, NewString: after}, o)}
}

// textOf is a content as JSON can carry it. What is no text is shown all the same, with U+FFFD for its bytes: a program
// that looks for something in it must not be blind.
func textOf(content []byte) string {
	if text, err := workspace.Decode(content); err == nil {
		return text.String
	}
	return string(bytes.ToValidUTF8(content, []byte("\uFFFD")))
}

// done are the events after a call.
func (d describer) done(o *hooks.Outcome) []event {
	if o.Command != nil && d.call.Effects.Command != nil {
		e := d.command(d.call.Effects.Command)
		e.ToolResponse = bashResponse{Stdout: o.Command.Output, Interrupted: o.Command.TimedOut}
		e.Orchestra.ExitCode, e.Orchestra.TimedOut, e.Orchestra.RecordID = &o.Command.ExitCode, o.Command.TimedOut, o.RecordID
		return []event{e}
	}
	if u := d.call.Effects.Upstream; u != nil {
		e := d.upstream(u)
		e.ToolResponse, e.Orchestra.RecordID = fileResponse{Success: !o.Failed}, o.RecordID
		return []event{e}
	}
	var events []event
	for _, f := range o.Files {
		if f.Knowledge != hooks.MadeByCommand {
			events = append(events, d.change(&f.Change, string(f.Op), f.Knowledge)...)
		}
	}
	if len(events) == 0 {
		events = d.planned()
	}
	for i := range events {
		events[i].Orchestra.RecordID = o.RecordID
		response := fileResponse{Success: true}
		if path := events[i].Orchestra.Path; path != "" {
			response.FilePath = d.path(path)
		}
		events[i].ToolResponse = response
	}
	return events
}

// stretch returns the lines of before that one replacement has to name to make after of it, and what takes their place.
// They stand in before only once: where the lines that differ do not, lines around them are added, in the end all.
func stretch(before, after string) (old, replacement string) {
	b, a := edit.RawLines(before), edit.RawLines(after)
	head := 0
	for head < min(len(b), len(a)) && b[head] == a[head] {
		head++
	}
	tail := 0
	for tail < min(len(b), len(a))-head && b[len(b)-1-tail] == a[len(a)-1-tail] {
		tail++
	}
	for more := 1; ; more *= 2 {
		old = strings.Join(b[head:len(b)-tail], "")
		if head == 0 && tail == 0 || old != "" && strings.Index(before, old) == strings.LastIndex(before, old) {
			return old, strings.Join(a[head:len(a)-tail], "")
		}
		head, tail = max(head-more, 0), max(tail-more, 0)
	}
}
