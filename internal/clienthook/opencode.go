package clienthook

import (
	"bytes"
	_ "embed"
	"encoding/json"
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
// Whatever else happens, the call does not. start is the program, and what stands before `hook`.
func OpenCodePlugin(start ...string) []byte {
	before := ""
	for _, word := range start[1:] {
		before += string(quote(word)) + ", "
	}
	return []byte(strings.NewReplacer(`"{{program}}"`, string(quote(start[0])), openCodeArguments, "["+before+openCodeArguments[1:]).Replace(plugin))
}

const openCodeArguments = `["hook", "opencode"]`

// OpenCodeProgram gives what a plugin was made of; nil if the text is not one.
func OpenCodeProgram(text []byte) (start []string) {
	head, rest, _ := strings.Cut(plugin, `"{{program}}"`)
	middle, _, _ := strings.Cut(rest, openCodeArguments)
	after, is := strings.CutPrefix(string(text), head)
	program, after, _ := strings.Cut(after, "\n")
	before, _, found := strings.Cut(strings.TrimPrefix("\n"+after, middle), openCodeArguments[1:])
	if !is || !found || json.Unmarshal([]byte("["+program+", "+strings.TrimPrefix(before, "[")+`""]`), &start) != nil {
		return nil
	}
	start = start[:len(start)-1]
	if len(start) == 0 || !bytes.Equal(OpenCodePlugin(start...), text) {
		return nil
	}
	return start
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
