package clienthook

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// take makes an action of a tool's input. The clients' tools differ in their names and in those of their members, hardly in
// what they do.
type take func(in *object) Action

func path(in *object) string {
	p := in.text("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_notebook", "target_file")
	if p == "" {
		in.fail("its path is missing")
	}
	return p
}

// patched: clients whose models write patches send one as the whole input of their other file tools too.
func patched(in *object) bool { return in.members[""] != nil }

func takeWrite(in *object) Action {
	if patched(in) {
		return takePatch(in)
	}
	return Write{Path: path(in), Content: in.need("content", "contents", "file_text", "new_text")}
}

func takeEdit(in *object) Action {
	if patched(in) {
		return takePatch(in)
	}
	return edit(path(in), in)
}

func takeEdits(in *object) Action {
	if in.members["edits"] == nil {
		in.fail("edits is missing")
	}
	return edit(path(in), in.objects("edits")...)
}

// edit: to replace the empty text is to make a file.
func edit(path string, parts ...*object) Action {
	var all []Replace
	makes := len(parts) == 0
	for _, part := range parts {
		all = append(all, Replace{
			Old: part.need("old_string", "oldString", "old_str", "old_text"),
			New: part.need("new_string", "newString", "new_str", "new_text"),
			All: part.flag("replace_all", "replaceAll", "allow_multiple") || part.number("expected_replacements") > 1,
		})
		makes = makes || all[len(all)-1].Old == ""
	}
	switch {
	case makes && len(all) == 1:
		return Write{Path: path, Content: all[0].New}
	case makes:
		return Change{Paths: []string{path}}
	}
	return Edit{Path: path, Replaces: all}
}

func takePatch(in *object) Action {
	return Patch{Text: in.full("input", "command", "patch", "patchText", "patch_text", "")}
}

func takeChange(in *object) Action { return Change{Paths: []string{path(in)}} }

// untold is for tools whose input is not published, or differs from version to version: where the path is all that can be
// read of it, the change is one that the event does not tell.
func untold(t take) take {
	return func(in *object) Action {
		trial := &object{what: in.what, members: in.members, err: new(error)}
		if action := t(trial); *trial.err == nil {
			return action
		}
		return takeChange(in)
	}
}

func takeDelete(in *object) Action {
	if paths := in.texts("paths"); len(paths) > 0 {
		return Delete{Paths: paths}
	}
	return Delete{Paths: []string{path(in)}}
}

func takeRead(in *object) Action {
	r := Read{Path: path(in), From: in.number("offset", "start_line", "startLine"), Lines: in.number("limit")}
	end := in.number("end_line", "endLine")
	if _, value := in.find("view_range"); value != nil {
		var ends [2]int
		if json.Unmarshal(value, &ends) != nil || ends[0] < 0 || ends[1] < -1 {
			in.fail("view_range is no pair of lines")
		}
		r.From, end = ends[0], max(ends[1], 0)
	}
	if r.Lines > 0 || end > 0 {
		r.From = max(r.From, 1)
	}
	if end > 0 {
		if r.Lines = end - r.From + 1; r.Lines < 1 {
			in.fail("it ends before it begins")
		}
	}
	return r
}

func takeLook(in *object) Action {
	return Look{Path: in.text("path", "dir_path", "directory", "target_directory")}
}

func takeSearch(in *object) Action {
	look, _ := takeLook(in).(Look)
	look.Contents = true
	return look
}

func takeCommand(in *object) Action {
	mode := in.text("mode")
	return Command{
		Line:       in.line("command", "cmd", "command_line"),
		Cwd:        in.text("workdir", "working_directory", "directory", "dir_path", "cwd"),
		Background: in.flag("run_in_background", "is_background", "isBackground") || mode == "async" || mode == "detached",
		TimeoutMS:  int64(in.number("timeout", "timeout_ms")),
	}
}

func takeMCP(in *object) Action {
	return called(in.need("server_name", "mcp_server_name", "server"), in.need("tool_name", "mcp_tool_name", "tool"))
}

// called is a tool of an MCP server.
func called(server, tool string) Action {
	if ours(server) {
		return Governed{Tool: tool}
	}
	return Foreign{}
}

func ours(server string) bool {
	return server == "orchestra" || strings.HasPrefix(server, "orchestra-")
}

// refuse is for tools that change files or run programs that their events do not name, where another tool does the same.
func refuse(advice string) take {
	return func(in *object) Action {
		in.fail("what this call does is not told before it is made: %s", advice)
		return Foreign{}
	}
}

// row is a line of a client's table of tools: how the tools of these names are taken.
type row struct {
	take  take
	names string // with spaces between them
}

func (f form) take(tool string) take {
	for _, r := range f.tools {
		if slices.Contains(strings.Fields(r.names), tool) {
			return r.take
		}
	}
	return nil
}
