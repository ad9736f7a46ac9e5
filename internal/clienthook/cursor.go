package clienthook

// cursorForm is of Cursor 3.9.
func cursorForm() form {
	return form{
		read: readCursor, emit: emitCursor,
		phases: map[string]Phase{
			"preToolUse": Before, "beforeShellExecution": Before, "beforeMCPExecution": Before, "beforeReadFile": Before, "beforeTabFileRead": Before,
			"postToolUse": After, "afterShellExecution": After, "afterMCPExecution": After, "afterFileEdit": After, "afterTabFileEdit": After,
			"postToolUseFailure": Failed, "beforeSubmitPrompt": Idle, "stop": Idle, "sessionEnd": End,
		},
		tools: []row{
			{untold(takeWrite), "Write"}, {untold(takeEdit), "StrReplace"}, {takeEdits, "Edit"}, {takePatch, "ApplyPatch"}, {takeDelete, "Delete"},
			{takeChange, "EditNotebook"}, {takeCommand, "Shell"}, {takeRead, "Read"}, {takeLook, "Glob LS"}, {takeSearch, "Grep SemanticSearch"},
		},
		rewrites:  "preToolUse",
		abilities: Abilities{Rewrite: true, RewriteAllows: true, FailsClosed: true, LimitSeconds: 20},
		respond:   respondCursor,
	}
}

// readCursor: events of one kind of tool only have what that tool takes beside their own members.
func readCursor(f form, e *Event, o *object) {
	f.common(e, o)
	if id := o.text("conversation_id"); id != "" {
		e.Session = id
	}
	e.Version = o.text("cursor_version")
	if roots := o.texts("workspace_roots"); e.Cwd == "" && len(roots) > 0 {
		e.Cwd = roots[0]
	}
	granular := map[string]string{
		"beforeShellExecution": "Shell", "afterShellExecution": "Shell", "beforeReadFile": "Read", "beforeTabFileRead": "Read",
		"afterFileEdit": "Edit", "afterTabFileEdit": "Edit",
	}
	if tool := granular[e.Name]; tool != "" {
		e.Tool = tool
		e.Input = o.raw
	}
	if e.Name == "beforeMCPExecution" || e.Name == "afterMCPExecution" { // where the tool's name is the server's word
		e.Tool = "MCP:" + o.full("tool_name")
	}
	f.act(e, o)
}

func respondCursor(e *Event, o *object) {
	e.Response.ExitCode = o.said("tool_output").code("exitCode")
}

// emitCursor always prints an object: with failClosed no answer is taken for a denial. What the model is shown is
// user_message, whatever its name says.
func emitCursor(e Event, a Answer, input []byte) Output {
	switch {
	case e.Phase == Before || e.Name == "subagentStart":
		if a.Verdict == Deny {
			return printed(text("permission", "deny"), text("user_message", a.Reason), text("agent_message", a.Reason))
		}
		return printed(text("permission", "allow"), member{"updated_input", input})
	case e.Name == "beforeSubmitPrompt":
		return printed(member{"continue", []byte("true")})
	case e.Name == "postToolUse" && a.Note != "":
		return printed(text("additional_context", a.Note))
	}
	return Output{Stdout: []byte("{}\n")}
}
