package clienthook

import (
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// copilotForm is of GitHub Copilot's command line and of its cloud agent. Hooks that are set up under an event's name in
// PascalCase get events with Claude Code's members and mostly its tools' names, others get events without a name.
func copilotForm() form {
	return form{
		read: readGitHub, emit: emitCopilot, phases: claudePhases(), separator: "-", tools: gitHubTools(),
		rewrites:  "PreToolUse",
		abilities: Abilities{Rewrite: true, RewriteAllows: true, FailsClosed: true, LimitSeconds: 20},
	}
}

// readGitHub: a hook that was set up for Copilot or VS Code may be run by the other. What replaces an input is not the same
// in both, so the tools that run commands tell whose event it is.
func readGitHub(f form, e *Event, o *object) {
	f.common(e, o)
	if e.Name == "" && !o.broken {
		e.Name = nameCopilot(o)
	}
	switch e.Tool {
	case "run_in_terminal":
		e.Client = VSCode
	case "bash", "powershell", "Bash", "PowerShell", "Powershell":
		e.Client = Copilot
	}
	// Arguments may come as a text of JSON; a text that is none is a patch.
	if jsontext.Value(e.Input).Kind() == jsontext.KindString {
		if inner, _ := jsontext.AppendUnquote(nil, e.Input); strings.HasPrefix(strings.TrimSpace(string(inner)), "{") {
			e.Input = json.RawMessage(inner)
		}
	}
	f.act(e, o)
}

// nameCopilot names an event without a name, by what only it has, as it is named where it has one.
func nameCopilot(o *object) string {
	for _, by := range []struct{ member, name, without string }{
		{"toolResult", "PostToolUse", ""}, {"toolName", "PreToolUse", "error"}, {"toolName", "PostToolUseFailure", ""}, {"toolArgs", "PreToolUse", ""},
		{"transformedPrompt", "UserPromptTransformed", ""}, {"prompt", "UserPromptSubmit", ""},
		{"stopReason", "Stop", "agentName"}, {"reason", "SessionEnd", ""},
		{"source", "SessionStart", ""}, {"agentName", "SubagentStart", ""}, {"trigger", "PreCompact", ""}, {"errorContext", "ErrorOccurred", ""},
	} {
		_, has := o.find(by.member)
		if _, not := o.find(by.without); has != nil && not == nil {
			return by.name
		}
	}
	return ""
}

// takeEditor is a tool with several deeds.
func takeEditor(in *object) Action {
	switch deed := in.full("command"); deed {
	case "create":
		return takeWrite(in)
	case "str_replace":
		return takeEdit(in)
	case "view":
		return takeRead(in)
	default:
		return takeChange(in)
	}
}

// emitCopilot denies twice: the exit code holds whatever becomes of the text.
func emitCopilot(e Event, a Answer, input []byte) Output {
	if e.Phase != Before {
		if e.Phase != After {
			return Output{}
		}
		return printed(text("additionalContext", a.Note))
	}
	out := printed(text("permissionDecision", a.Verdict.word()), text("permissionDecisionReason", a.Reason), member{"modifiedArgs", input})
	if a.Verdict == Deny {
		out.Stderr, out.ExitCode = []byte(a.Reason+"\n"), 2
	}
	return out
}
