package clienthook

import (
	_ "embed"
	"strings"
)

//go:embed opencode_plugin.js
var plugin string

// OpenCodePlugin is the text of a plugin for OpenCode that asks a program before each call of a tool, and tells it of each
// that was made. Its events are
//
//	{"event":"before"|"after"|"idle"|"end","session","call","tool","args":{…},"directory","output":{"exit":number?}}
//
// and the answers {"decision":"allow","command":"…"?}, {"decision":"deny","reason":"…"} and, after a call, {"note":"…"?}.
// Whatever else happens, the call does not.
func OpenCodePlugin(program string) []byte {
	return []byte(strings.Replace(plugin, `"{{program}}"`, string(quote(program)), 1))
}

// openCodeForm is of that plugin and of the tools of OpenCode 1.18.
func openCodeForm() form {
	return form{
		read: readOpenCode, emit: emitOpenCode, separator: "_",
		phases: map[string]Phase{"before": Before, "after": After, "idle": Idle, "end": End},
		tools: []row{
			{takeWrite, "write"}, {takeEdit, "edit"}, {takeEdits, "multiedit"}, {takePatch, "patch apply_patch"}, {takeCommand, "bash shell"},
			{takeRead, "read"}, {takeLook, "list ls glob"}, {takeSearch, "grep"}, {refuse("make the calls one by one"), "batch"},
		},
		rewrites:  "before",
		abilities: Abilities{Rewrite: true, FailsClosed: true, LimitSeconds: 20},
	}
}

func readOpenCode(f form, e *Event, o *object) {
	e.Name = o.text("event")
	e.Session = o.text("session")
	e.Call = o.text("call")
	e.Tool = o.text("tool")
	e.Cwd = o.text("directory")
	e.Input = []byte(o.members["args"])
	f.act(e, o)
	e.Response.ExitCode = o.said("output").code("exit")
}

func emitOpenCode(e Event, a Answer, input []byte) Output {
	switch {
	case e.Phase != Before:
		return printed(text("note", a.Note))
	case a.Verdict == Deny:
		return printed(text("decision", "deny"), text("reason", a.Reason))
	case input != nil:
		return printed(text("decision", "allow"), text("command", a.Command))
	}
	return printed(text("decision", "allow"))
}
