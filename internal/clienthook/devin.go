package clienthook

// devinForm is of Devin Local, whose hooks are Claude Code's by what it says. It does not publish the input of its file
// tools, and whether it replaces an input is not known: neither is counted on.
func devinForm() form {
	return form{
		read: readClaude, emit: emitDevin, phases: claudePhases(), prefix: "mcp__", separator: "__",
		tools: []row{
			{untold(takeWrite), "write Write"}, {untold(takeEdit), "edit Edit"}, {takePatch, "apply_patch"}, {takeChange, "notebook_edit"},
			{takeCommand, "exec Bash"}, {takeRead, "read notebook_read Read"}, {takeLook, "glob Glob"}, {takeSearch, "grep Grep"},
			{takeMCP, "mcp_call_tool"},
		},
		abilities: Abilities{LimitSeconds: 20},
		respond:   respondDevin,
	}
}

func respondDevin(e *Event, o *object) {
	if string(o.said("tool_response").members["success"]) == "false" {
		e.Phase = Failed
	}
}

// emitDevin denies twice: by the decision that its reference lists, and by the exit code.
func emitDevin(e Event, a Answer, _ []byte) Output {
	if e.Phase != Before {
		return Output{}
	}
	switch a.Verdict {
	case Deny:
		out := printed(text("decision", "block"), text("reason", a.Reason))
		out.Stderr, out.ExitCode = []byte(a.Reason+"\n"), 2
		return out
	case Allow:
		return printed(text("decision", "approve"))
	}
	return Output{}
}
