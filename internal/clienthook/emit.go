package clienthook

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Emit writes an answer to an event of phase Before, or a note to one of After or Failed, in the client's form: other events
// are answered with what the client takes for nothing. What a client cannot be told is denied, never left out: to ask where
// it asks nobody, to replace a command where it replaces none. The event may be one that came with an error.
func Emit(e Event, a Answer) Output {
	f, known := formOf(e.Client)
	if !known || e.Phase == "" {
		e.Phase = Before
	}
	var input []byte
	if e.Phase == Before {
		a, input = f.settle(e, a)
	}
	if !known {
		return byExitCode(a)
	}
	return f.emit(e, a, input)
}

// settle makes an answer that the client can be given.
func (f form) settle(e Event, a Answer) (settled Answer, input []byte) {
	if a.Verdict == Ask && !slices.Contains(f.asks, e.Mode) {
		a.Verdict = Deny
	}
	if a.Verdict != Deny && a.Command != "" {
		input = f.replaced(e, a.Command)
		switch {
		case input == nil:
			a = Answer{Verdict: Deny, Reason: "The command would have to run in the sandbox of the intent, and this client cannot be told so. Run it with the tool execute_command of orchestra."}
		case a.Verdict == Pass && f.abilities.RewriteAllows:
			a.Verdict = Allow
		}
	}
	if a.Verdict == Deny || a.Verdict == Ask {
		if a.Reason = strings.TrimSpace(a.Reason); a.Reason == "" {
			a.Reason = "Denied by orchestra-mcp, without a reason."
		}
	}
	return a, input
}

// replaced is the input with another command; nil where no answer to the event can have it.
func (f form) replaced(e Event, line string) []byte {
	_, command := e.Action.(Command)
	if !command || another(e) || e.Name != f.rewrites || !e.Client.Abilities(e.Mode).Rewrite {
		return nil
	}
	return replaceCommand(e.Input, line)
}

// another client ran our hook that it found in Claude Code's settings: each call of Claude Code has an id.
func another(e Event) bool { return e.Client == ClaudeCode && e.Call == "" }

// byExitCode denies as almost all clients understand it, whatever the event.
func byExitCode(a Answer) Output {
	if a.Verdict == Deny || a.Verdict == Ask {
		return Output{Stderr: []byte(a.Reason + "\n"), ExitCode: 2}
	}
	return Output{}
}

// member is one of an object to print: none if its value is nil.
type member struct {
	name  string
	value []byte
}

func text(name, value string) member {
	if value == "" {
		return member{}
	}
	return member{name, quote(value)}
}

func quote(text string) []byte {
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	if err != nil { // only of text that is no UTF-8
		return []byte(`""`)
	}
	return quoted
}

// encode is nil for no members.
func encode(members ...member) (object []byte) {
	for _, m := range members {
		if m.value == nil {
			continue
		}
		before := byte(',')
		if object == nil {
			before = '{'
		}
		object = slices.Concat(append(object, before), quote(m.name), []byte(":"), m.value)
	}
	if object == nil {
		return nil
	}
	return append(object, '}')
}

// printed is an object on standard output, or nothing.
func printed(members ...member) Output {
	if text := encode(members...); text != nil {
		return Output{Stdout: append(text, '\n')}
	}
	return Output{}
}

// word is a verdict in the words of most clients; Pass has none.
func (v Verdict) word() string { return [...]string{"", "allow", "ask", "deny"}[v] }
