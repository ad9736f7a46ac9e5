package clienthook

// geminiForm is of Gemini CLI 0.61.
func geminiForm() form {
	return form{
		read: readGemini, emit: emitGemini, prefix: "mcp_", separator: "_",
		phases: map[string]Phase{"BeforeTool": Before, "AfterTool": After, "BeforeAgent": Idle, "AfterAgent": Idle, "SessionEnd": End},
		tools: []row{
			{takeWrite, "write_file"}, {takeEdit, "replace"}, {takeCommand, "run_shell_command"},
			{takeReadGemini, "read_file"}, {refuse("read the files one by one with read_file"), "read_many_files"},
			{takeLook, "list_directory glob"}, {takeSearch, "grep_search search_file_content"},
		},
		rewrites:  "BeforeTool",
		abilities: Abilities{Rewrite: true, LimitSeconds: 20},
	}
}

func readGemini(f form, e *Event, o *object) {
	f.common(e, o)
	f.act(e, o)
	if c := o.inner("mcp_context"); c.members["server_name"] != nil { // more exact than the tool's name
		e.Action = called(c.need("server_name"), c.need("tool_name"))
	}
	if e.Phase != After {
		return
	}
	if _, failed := o.said("tool_response").find("error"); failed != nil {
		e.Phase = Failed
	}
	e.Response.ByPerson = o.said("tool_input").flag("modified_by_user")
}

// takeReadGemini: older versions count an offset from 0.
func takeReadGemini(in *object) Action {
	r, is := takeRead(in).(Read)
	if _, offset := in.find("offset"); is && offset != nil {
		r.From = in.number("offset") + 1
	}
	return r
}

// emitGemini prints the whole input, which takes the place of the old one. To allow is no more than to pass: the client's own
// rules and questions come after it. Whom it asks sees the message, not the reason.
func emitGemini(e Event, a Answer, input []byte) Output {
	switch e.Phase {
	case Before:
		var message member
		if a.Verdict == Ask {
			message = text("systemMessage", a.Reason)
		}
		return printed(text("decision", a.Verdict.word()), text("reason", a.Reason), message, specific(e, member{"tool_input", input}))
	case After:
		return printed(specific(e, text("additionalContext", a.Note)))
	}
	return Output{}
}
