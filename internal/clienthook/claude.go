package clienthook

import "slices"

// claudeForm is of Claude Code 2.1.330.
func claudeForm() form {
	phases := claudePhases()
	phases["PreSkillShellCommand"] = Before // a command in the text of a skill
	own := []row{
		{takeWrite, "Write"}, {takeEdit, "Edit"}, {takeEdits, "MultiEdit"}, {takeChange, "NotebookEdit"},
		{takeCommand, "Bash PowerShell"}, {takeMonitor, "Monitor"},
		{takeRead, "Read NotebookRead"}, {takeLook, "Glob LS"}, {takeSearch, "Grep"},
	}
	return form{
		read: readClaude, emit: emitClaude, phases: phases, prefix: "mcp__", separator: "__",
		// Other clients run the hooks that they find in Claude Code's settings.
		tools:     slices.Concat(own, gitHubTools(), cursorForm().tools, devinForm().tools),
		rewrites:  "PreToolUse",
		asks:      []string{"default", "acceptEdits", "plan"},
		abilities: Abilities{Rewrite: true, FailsClosed: true, LimitSeconds: 20},
		respond:   respondClaude,
	}
}

func readClaude(f form, e *Event, o *object) {
	f.common(e, o)
	f.act(e, o)
}

// takeMonitor: it watches a command, or a connection.
func takeMonitor(in *object) Action {
	if _, command := in.find("command"); command == nil {
		return Foreign{}
	}
	return Command{Line: in.full("command"), Background: true, TimeoutMS: int64(in.number("timeout_ms"))}
}

func respondClaude(e *Event, o *object) {
	r := o.said("tool_response")
	if changed := r.text("filePath"); changed != "" {
		e.Response.Paths = []string{changed}
	}
	e.Response.ByPerson = r.flag("userModified")
	e.Response.Background = r.text("backgroundTaskId") != ""
	file := r.said("file")
	e.Response.From, e.Response.Lines = file.number("startLine"), file.number("numLines")
}

// emitClaude leaves the decision out to pass: then the client asks as it would without a hook, also about a replaced input.
func emitClaude(e Event, a Answer, input []byte) Output {
	if e.Phase == After || e.Phase == Failed {
		return noteClaude(e, a)
	}
	if e.Phase != Before {
		return Output{}
	}
	if e.Name != "PreToolUse" || another(e) { // an exit code is taken for any event, and by other clients
		return byExitCode(a)
	}
	return printed(specific(e, text("permissionDecision", a.Verdict.word()), text("permissionDecisionReason", a.Reason), member{"updatedInput", input}))
}

func noteClaude(e Event, a Answer) Output {
	if e.Name != "PostToolUse" && e.Name != "PostToolUseFailure" {
		return Output{}
	}
	return printed(specific(e, text("additionalContext", a.Note)))
}

// specific has members in the object that several clients have for those of one event: none for no members.
func specific(e Event, members ...member) member {
	if encode(members...) == nil {
		return member{}
	}
	return member{"hookSpecificOutput", encode(append([]member{text("hookEventName", e.Name)}, members...)...)}
}
