package clienthook

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// clineForm is of Cline of August 2026: of its extension, whose events have a tool's input as a map of texts, and of its SDK,
// whose events have it as it is beside that map.
func clineForm() form {
	return form{
		read: readCline, emit: emitCline, separator: "__",
		phases: map[string]Phase{
			"PreToolUse": Before, "PostToolUse": After, "UserPromptSubmit": Idle, "TaskComplete": Idle, "TaskCancel": Idle, "TaskError": Idle,
			"tool_call": Before, "tool_result": After, "prompt_submit": Idle, "agent_end": Idle, "agent_abort": Idle, "agent_error": Idle,
			"session_shutdown": End, "SessionShutdown": End,
		},
		tools: []row{
			{takeWrite, "write_to_file new_rule write"}, {takeSearchReplace, "replace_in_file"}, {takePatch, "apply_patch"},
			{takeEditorCline, "editor"}, {takeEdit, "edit"}, {takeSeconds, "execute_command bash shell run_command"}, {takeCommands, "run_commands"},
			{takeRead, "read_file"}, {takeFilesCline, "read_files"},
			{takeLook, "list_files list_code_definition_names"}, {takeSearch, "search_files search_codebase"}, {takeMCP, "use_mcp_tool"},
		},
		rewrites:  "tool_call",
		abilities: Abilities{RewriteAllows: true, LimitSeconds: 25}, // of 30 that nobody can change
	}
}

func readCline(f form, e *Event, o *object) {
	e.Name = o.text("hookName")
	e.Session = o.text("taskId")
	e.Version = o.text("clineVersion")
	e.Model = o.inner("model").text("slug")
	if o.text("parent_agent_id") != "" {
		e.Agent = o.text("agent_id")
	}
	if roots := o.texts("workspaceRoots"); len(roots) > 0 {
		e.Cwd = roots[0]
	}
	member, name, input := "preToolUse", "toolName", "parameters"
	switch e.Name {
	case "PostToolUse":
		member = "postToolUse"
	case "tool_call", "tool_result":
		member, name, input = e.Name, "name", "input"
		e.Mode = StructuredInput
	}
	call := o.inner(member)
	e.Call = call.text("id")
	e.Tool = call.text(name)
	e.Input = []byte(call.members[input])
	f.act(e, o)
	if failed := call.text("error") != "" || string(call.members["success"]) == "false"; failed && e.Phase == After {
		e.Phase = Failed
	}
}

// takeSeconds: what Cline calls a timeout is in seconds.
func takeSeconds(in *object) Action {
	c, _ := takeCommand(in).(Command)
	c.TimeoutMS *= 1000
	return c
}

// takeCommands makes one line of several commands. Each is of a shell of its own: what one leaves open or changes is not the
// next one's.
func takeCommands(in *object) Action {
	var lines []string
	_, many := in.find("commands")
	if many.Kind() != jsontext.KindBeginArray {
		return Command{Line: in.full("command", "cmd", "commands", "")}
	}
	for _, one := range in.list("commands") {
		if one.Kind() == jsontext.KindString {
			lines = append(lines, in.openAny("a command of "+in.what, one).full(""))
			continue
		}
		argv := in.open("a command of "+in.what, one)
		line := argv.full("command", "cmd")
		if args := argv.texts("args"); len(args) > 0 {
			line = words(append([]string{line}, args...)...)
		}
		lines = append(lines, line)
	}
	switch len(lines) {
	case 0:
		in.fail("commands is missing")
		return Command{}
	case 1:
		return Command{Line: lines[0]}
	}
	for i, line := range lines {
		lines[i] = words("sh", "-c", line)
	}
	return Command{Line: strings.Join(lines, "\n")}
}

func takeEditorCline(in *object) Action {
	_, at := in.find("insert_line")
	_, old := in.find("old_text")
	switch {
	case at != nil:
		return takeChange(in)
	case old == nil:
		return takeWrite(in)
	}
	return takeEdit(in)
}

func takeFilesCline(in *object) Action {
	var all Reads
	for _, value := range in.list("files", "file_paths", "paths") {
		if value.Kind() == jsontext.KindString {
			all.Files = append(all.Files, Read{Path: in.openAny("a file of "+in.what, value).full("")})
		} else if r, is := takeRead(in.open("a file of "+in.what, value)).(Read); is {
			all.Files = append(all.Files, r)
		}
	}
	if len(all.Files) == 0 {
		return takeRead(in)
	}
	return all
}

var searchReplace = lazy.Regexp(`(?ms)^(?:-{3,}|<{3,}) SEARCH\r?\n(.*?)^={5,}\r?\n(.*?)^(?:\+{3,}|>{3,}) REPLACE\r?(?:\n|\z)`)

// takeSearchReplace reads blocks of lines to search and lines to put there. Where they cannot be told apart, the change is one
// that the event does not tell.
func takeSearchReplace(in *object) Action {
	to, diff := path(in), in.need("diff")
	var all []Replace
	told := strings.TrimSpace(searchReplace().ReplaceAllString(diff, "")) == ""
	for _, parts := range searchReplace().FindAllStringSubmatch(diff, -1) {
		all = append(all, Replace{Old: parts[1], New: parts[2]})
		told = told && parts[1] != "" && !strings.Contains(parts[1]+parts[2], " SEARCH")
	}
	switch {
	case len(all) == 1 && all[0].Old == "":
		return Write{Path: to, Content: all[0].New}
	case !told || len(all) == 0:
		return Change{Paths: []string{to}}
	}
	return Edit{Path: to, Replaces: all}
}

// emitCline: the SDK asks nobody for review, although it lists the member.
func emitCline(e Event, a Answer, input []byte) Output {
	cancel := member{"cancel", []byte("false")}
	switch {
	case e.Phase == Before && a.Verdict == Deny:
		return printed(member{"cancel", []byte("true")}, text("errorMessage", a.Reason))
	case e.Phase == Before:
		return printed(cancel, member{"overrideInput", input})
	case e.Phase == After:
		return printed(cancel, text("contextModification", a.Note))
	}
	return printed(cancel)
}
