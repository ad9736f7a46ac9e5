package clienthook

import (
	"fmt"
	"strings"
)

// windsurfForm is of Cascade in Windsurf, which ended in July 2026.
func windsurfForm() form {
	return form{
		read: readWindsurf, emit: emitWindsurf, clean: escapeControls,
		phases: map[string]Phase{
			"pre_write_code": Before, "pre_read_code": Before, "pre_run_command": Before, "pre_mcp_tool_use": Before,
			"post_write_code": After, "post_read_code": After, "post_run_command": After, "post_mcp_tool_use": After,
			"pre_user_prompt": Idle, "post_cascade_response": Idle, "post_cascade_response_with_transcript": Idle,
		},
		tools:     []row{{takeEdits, "write_code"}, {takeRead, "read_code"}, {takeCommand, "run_command"}, {takeMCP, "mcp_tool_use"}},
		abilities: Abilities{LimitSeconds: 20},
	}
}

func readWindsurf(f form, e *Event, o *object) {
	e.Name = o.text("agent_action_name")
	e.Session = o.text("trajectory_id")
	e.Model = o.text("model_name")
	info := o.inner("tool_info")
	e.Input = []byte(o.members["tool_info"])
	e.Cwd = info.text("cwd")
	if e.Tool = strings.TrimPrefix(strings.TrimPrefix(e.Name, "pre_"), "post_"); f.take(e.Tool) == nil && strings.HasPrefix(e.Name, "post_") {
		e.Tool = ""
	}
	f.act(e, o)
}

func emitWindsurf(e Event, a Answer, _ []byte) Output {
	if e.Phase != Before {
		return Output{}
	}
	return byExitCode(a)
}

// escapeControls makes JSON of an event whose texts hold control characters as they are.
func escapeControls(raw []byte) []byte {
	var clean []byte
	inText, escaped := false, false
	for _, c := range raw {
		if inText && !escaped && c < ' ' {
			clean = fmt.Appendf(clean, `\u%04x`, c)
			continue
		}
		inText = inText != (c == '"' && !escaped)
		escaped = inText && c == '\\' && !escaped
		clean = append(clean, c)
	}
	return clean
}
