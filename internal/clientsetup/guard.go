package clientsetup

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxGuardInput bounds one question of the client: a Write carries the whole file, and more is refused.
const maxGuardInput = 64 << 20

// guardAnswer is what Cursor expects from a preToolUse hook, at exit code 0. https://cursor.com/docs/hooks
type guardAnswer struct {
	Permission   string `json:"permission"`
	UserMessage  string `json:"user_message,omitempty"`
	AgentMessage string `json:"agent_message,omitempty"`
}

// cursorHarmless are tools of Cursor's agent that neither change nor read the workspace; a Task's own tools come
// past the guard one by one. What is not listed here is refused, so a tool that Cursor adds later is refused too.
func cursorHarmless() []string {
	return []string{
		"Task", "TodoWrite", "TodoRead", "AskQuestion", "CreatePlan", "SwitchMode", "Await",
		"WebSearch", "WebFetch", "CallMcpTool", "FetchMcpResource", "ListMcpResources", "GetMcpTools",
	}
}

func cursorReading() []string {
	return []string{"Read", "Grep", "Glob", "LS", "ListDir", "SemanticSearch", "ReadLints", "TabRead"}
}

// CursorGuard answers one preToolUse question of Cursor, read from in: MCP tools and harmless ones may run, the
// agent's own file and shell tools may not. Anything unclear is refused. The error is of writing the answer only.
func CursorGuard(in io.Reader, out io.Writer, keepReadTools bool) error {
	return json.NewEncoder(out).Encode(judgeCursorTool(in, keepReadTools))
}

func judgeCursorTool(in io.Reader, keepReadTools bool) guardAnswer {
	text, err := io.ReadAll(io.LimitReader(in, maxGuardInput+1))
	if err != nil || len(text) > maxGuardInput {
		return refuseTool("The hook's input could not be read.")
	}
	var call struct {
		Tool string `json:"tool_name"`
	}
	if err := json.Unmarshal(text, &call); err != nil || call.Tool == "" {
		return refuseTool("The hook's input names no tool.")
	}
	switch {
	case strings.HasPrefix(call.Tool, "MCP:"), slices.Contains(cursorHarmless(), call.Tool):
		return guardAnswer{Permission: "allow"}
	case keepReadTools && slices.Contains(cursorReading(), call.Tool):
		return guardAnswer{Permission: "allow"}
	}
	return refuseTool(fmt.Sprintf("The tool %q goes round the governance of this workspace.", call.Tool))
}

// refuseTool puts the same words into both messages: which of them reaches the model differs between versions.
func refuseTool(why string) guardAnswer {
	message := why + " Use the tools of the MCP server " + ServerName +
		" instead: read_file, list_files, search_files, edit_file, write_to_file, apply_diff, apply_patch, execute_command."
	return guardAnswer{Permission: "deny", UserMessage: message, AgentMessage: message}
}
