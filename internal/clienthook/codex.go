package clienthook

import "strings"

// codexForm is of Codex 0.154 to 0.159, which takes an answer with one member too much for none. Its events do not tell the
// directory that a model names for a command: a line may start elsewhere than in the event's Cwd.
func codexForm() form {
	return form{
		read: readClaude, emit: emitCodex, phases: claudePhases(), prefix: "mcp__", separator: "__",
		tools: []row{
			{takePatch, "apply_patch Write Edit"}, {takeCommand, "Bash shell shell_command exec_command local_shell container.exec"},
			{takeRead, "view_image"}, {refuse("make the calls one by one"), "multi_tool_use.parallel"},
		},
		rewrites:  "PreToolUse",
		abilities: Abilities{Rewrite: true, RewriteAllows: true, LimitSeconds: 20},
		respond:   respondCodex,
	}
}

// emitCodex: only a denial and a replaced input can be said, and notes only to a call that was made.
func emitCodex(e Event, a Answer, input []byte) Output {
	switch {
	case e.Phase != Before:
		return noteClaude(e, a)
	case a.Verdict == Deny:
		return emitClaude(e, a, nil)
	case input != nil:
		return printed(specific(e, text("permissionDecision", "allow"), member{"updatedInput", input}))
	}
	return Output{}
}

// respondCodex takes the files from what apply_patch answers: a letter and a path a line.
func respondCodex(e *Event, o *object) {
	r := o.said("tool_response")
	e.Response.ExitCode = r.said("metadata").code("exit_code")
	if _, is := e.Action.(Patch); !is {
		return
	}
	for line := range strings.Lines(r.text("output", "")) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) > 2 && line[1] == ' ' && strings.Contains("AMDRU", line[:1]) {
			e.Response.Paths = append(e.Response.Paths, line[2:])
		}
	}
}
