package clienthook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// form is how one client writes its events and wants its answers.
type form struct {
	// read fills in an event.
	read func(f form, e *Event, o *object)
	// emit writes an answer that the client can take; input is the tool's whole input where its command is replaced.
	emit   func(e Event, a Answer, input []byte) Output
	phases map[string]Phase
	tools  []row
	// In a tool's name, prefix stands before the name of its MCP server, and separator after it.
	prefix, separator string
	// rewrites is the event whose answer can replace the tool's input.
	rewrites string
	// asks are the modes in which the client asks a person if told to. "" is a mode that the event does not tell.
	asks      []string
	abilities Abilities
	// clean makes JSON of what the client takes for it. It may be nil.
	clean func(raw []byte) []byte
	// respond reads what the client says of a call that was made. It may be nil.
	respond func(e *Event, o *object)
}

// Clients are all clients.
func Clients() []Client {
	return []Client{ClaudeCode, Codex, Cursor, Copilot, VSCode, Gemini, Cline, Devin, Windsurf, OpenCode}
}

func formOf(c Client) (f form, known bool) {
	forms := map[Client]func() form{
		ClaudeCode: claudeForm, Codex: codexForm, Cursor: cursorForm, Copilot: copilotForm, VSCode: vscodeForm,
		Gemini: geminiForm, Cline: clineForm, Devin: devinForm, Windsurf: windsurfForm, OpenCode: openCodeForm,
	}
	of, known := forms[c]
	if !known {
		return form{}, false
	}
	return of(), true
}

// Parse reads an event as the client writes it to a hook's standard input. Members that it does not know are no error: clients
// add some. With an error, the event has what could be read, and its Phase is Before unless it is clearly of a call that was
// made: so that Emit can deny in the client's form. A session may be "" in an event without error.
func Parse(client Client, raw []byte) (Event, error) {
	e := Event{Client: client, Phase: Before}
	f, known := formOf(client)
	if !known {
		return e, fmt.Errorf("no client is called %q: take one of %v", client, Clients())
	}
	if f.clean != nil {
		raw = f.clean(raw)
	}
	var err error
	event := (&object{err: &err}).open("the event", raw)
	f.read(f, &e, event)
	if event.broken && e.Phase != After && e.Phase != Failed {
		e.Phase = Before
	}
	return e, err
}

// common reads what most clients name alike.
func (f form) common(e *Event, o *object) {
	e.Name = o.text("hook_event_name", "hookEventName")
	e.Session = o.text("session_id", "sessionId")
	e.Agent = o.text("agent_id")
	e.Call = o.text("tool_use_id")
	e.Model = o.text("model")
	e.Mode = o.text("permission_mode")
	e.Cwd = o.text("cwd")
	e.Tool = o.text("tool_name", "toolName")
	_, input := o.find("tool_input", "toolArgs")
	e.Input = json.RawMessage(input)
}

// act reads what the event is, and of what call.
func (f form) act(e *Event, o *object) {
	phase, known := f.phases[e.Name]
	name := strings.ToLower(e.Name)
	switch {
	case known:
		e.Phase = phase
	case e.Name == "":
		o.fail("it has no name")
	case e.Tool != "" && !strings.HasPrefix(name, "post") && !strings.HasPrefix(name, "after"):
		o.fail("%q is no event of a call that is known here: a newer orchestra-mcp may know it", e.Name)
	default:
		e.Phase = Other
	}
	if e.Phase == Idle && e.Agent != "" {
		e.Phase = Other // a subagent's turn says nothing of the main line
	}
	if e.Cwd != "" && !absolute(e.Cwd) {
		o.fail("its directory %q is not absolute", e.Cwd)
	}
	ofCall := e.Phase == Before || e.Phase == After || e.Phase == Failed
	if e.Tool == "" {
		if ofCall {
			o.fail("tool_name is missing")
		}
		return
	}
	e.Action = f.action(e, o)
	if c, is := e.Action.(Command); is && c.Cwd == e.Cwd {
		c.Cwd = ""
		e.Action = c
	}
	if f.respond != nil && (e.Phase == After || e.Phase == Failed) {
		f.respond(e, o)
	}
}

func (f form) action(e *Event, o *object) Action {
	if rest, is := strings.CutPrefix(e.Tool, f.prefix); is && f.separator != "" {
		if server, tool, is := strings.Cut(rest, f.separator); is && ours(server) {
			return Governed{Tool: tool}
		}
	}
	take := f.take(strings.TrimPrefix(e.Tool, "functions."))
	if take == nil {
		return Foreign{}
	}
	input := e.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return take(o.openAny("the input of "+e.Tool, input))
}

// absolute also knows the forms of Windows, in which a client may speak to a program in its Linux.
func absolute(path string) bool {
	return path[0] == '/' || path[0] == '\\' || len(path) > 1 && path[1] == ':'
}

// claudePhases are those of Claude Code, which several clients took over.
func claudePhases() map[string]Phase {
	return map[string]Phase{
		"PreToolUse": Before, "PostToolUse": After, "PostToolUseFailure": Failed, "PermissionDenied": Failed, "PermissionRequest": Other,
		"UserPromptSubmit": Idle, "Stop": Idle, "StopFailure": Idle, "Interrupt": Idle, "SessionEnd": End,
	}
}

// CanAsk reports whether the client asks a person, in a permission mode, if a hook tells it to.
func (c Client) CanAsk(mode string) bool {
	f, _ := formOf(c)
	return slices.Contains(f.asks, mode)
}

// StructuredInput is the mode of an event of Cline whose input is as the tool takes it, which can be replaced. In Cline's
// older events it is a map of texts.
const StructuredInput = "structured"

// Abilities are the client's in a permission mode, as setup installs its hooks.
func (c Client) Abilities(mode string) Abilities {
	f, _ := formOf(c)
	if c == Cline {
		f.abilities.Rewrite = mode == StructuredInput
	}
	return f.abilities
}

// replaceCommand gives an input with another command, and nil where it has none that is a text. All else stays as it is, byte
// for byte.
func replaceCommand(input []byte, line string) (replaced []byte) {
	d := jsontext.NewDecoder(bytes.NewReader(input))
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != jsontext.KindBeginObject {
		return nil
	}
	done := 0
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return nil
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		by := quote(line)
		switch kind := value.Kind(); {
		case kind == jsontext.KindNull || name != "command" && name != "cmd" && name != "commands":
			continue
		case name == "commands" && kind == jsontext.KindBeginArray:
			by = slices.Concat([]byte("["), by, []byte("]"))
		case kind != jsontext.KindString:
			return nil
		}
		end := int(d.InputOffset())
		replaced = slices.Concat(replaced, input[done:end-len(value)], by)
		done = end
	}
	if done == 0 {
		return nil
	}
	return append(replaced, input[done:]...)
}
