package clientsetup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// GuardArgs are the arguments with which Cursor's hook calls this program before each use of a tool.
func GuardArgs(keepReadTools bool) []string {
	args := []string{"client-guard", "cursor"}
	if keepReadTools {
		args = append(args, "--keep-read-tools")
	}
	return args
}

// Cursor: the project's MCP list, a preToolUse hook that refuses the editor agent's own tools, and the denials of
// the command-line agent.
// https://cursor.com/docs/mcp, https://cursor.com/docs/hooks, https://cursor.com/docs/cli/reference/permissions
func planCursor(p *planner) error {
	if err := p.planServer(p.inWorkspace(".cursor/mcp.json"), "mcpServers", "", variable, plainName); err != nil {
		return err
	}
	p.warnOfOtherServers("mcpServers")
	if err := p.editJSON(p.inWorkspace(".cursor/hooks.json"), p.addCursorHook, takeCursorHook); err != nil {
		return err
	}
	brokenHook := p.brokenCursorHook()
	if err := p.planCursorCLI(); err != nil {
		return err
	}
	p.closes(brokenHook, "Cursor's agent is refused its shell, editing and deleting tools in this project by a hook that runs `orchestra-mcp client-guard` "+
		"before each tool (Cursor 1.7 or later; if the hook itself fails, Cursor refuses the tool).")
	p.closes(p.notStandard(), "The command-line agent (cursor-agent) is denied Shell and Write by .cursor/cli.json.")
	if p.KeepReadTools {
		p.leaves("Its own reading tools stay (--keep-read-tools): the server does not know what the agent has seen, and secret: rules do not bind them.")
	} else {
		p.closes(brokenHook, "Its own reading tools are refused too: the server then knows what the agent has seen. --keep-read-tools leaves them.")
	}
	p.leaves(
		"Tab completion and inline edits that you accept are your own edits; Cursor has no setting of the project that removes a tool from the agent, "+
			"so it still tries, and is refused.",
		"Cloud agents run elsewhere and do not have this server.",
	)
	p.plan.Next = "Restart Cursor, enable the server " + ServerName + " under Settings, MCP, and look under Settings, Hooks that the hook is listed."
	return nil
}

// cursorHook is one handler of hooks.json. Cursor lets a tool pass when a handler fails, unless failClosed is set.
type cursorHook struct {
	Command    string `json:"command"`
	FailClosed bool   `json:"failClosed"`
}

func (p *planner) addCursorHook(doc *document) (string, error) {
	hook := cursorHook{Command: p.guardCommand(), FailClosed: true}
	if doc.find("version") == nil {
		if err := doc.merge(map[string]any{"version": 1}); err != nil {
			return "", err
		}
	}
	if _, at := doc.findGuard(); at != nil {
		return "the hook is there", doc.merge(hook, at...)
	}
	return "a hook before each tool", doc.merge(map[string]any{"hooks": map[string]any{"preToolUse": []any{hook}}})
}

// findGuard finds our handler, whatever binary it names, so that moving the binary does not leave a dead hook behind.
func (d *document) findGuard() (handler *hujson.Value, path []string) {
	for i, of := range d.elements("hooks", "preToolUse") {
		if isGuard(*of.value) {
			return of.value, []string{"hooks", "preToolUse", strconv.Itoa(i)}
		}
	}
	return nil, nil
}

func isGuard(handler hujson.Value) bool {
	command := handler.Find("/command")
	if command == nil {
		return false
	}
	literal, ok := command.Value.(hujson.Literal)
	return ok && strings.Contains(literal.String(), strings.Join(GuardArgs(false), " "))
}

func takeCursorHook(doc, was *document) (string, error) {
	taken := doc.takeElements(was, isGuard, "hooks", "preToolUse")
	if len(taken) == 0 {
		return "", nil
	}
	if was.find("version") == nil && doc.find("hooks") == nil {
		doc.take(was, "version")
	}
	return "no hook", nil
}

// brokenCursorHook says why Cursor would not ask our hook before each tool.
func (p *planner) brokenCursorHook() []string {
	problems := p.notStandard()
	file, doc := p.last(), p.lastDocument()
	if version := doc.find("version"); version == nil || !sameText(*version, "1") {
		problems = append(problems, file.Name+`: "version" is not 1, so Cursor does not read the hooks as they are meant`)
	}
	var ours map[string]any
	if guard, _ := doc.findGuard(); guard != nil {
		_ = decode(*guard, &ours)
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if key != "command" && key != "failClosed" {
			problems = append(problems, fmt.Sprintf("%s: our hook has the key %q, which can keep Cursor from asking it: take the key out", file.Name, key))
		}
	}
	return problems
}

// guardCommand is a shell command line; a path that a shell would take apart is quoted.
func (p *planner) guardCommand() string {
	program := p.program(true)
	switch quoted := shellword.Show(program); {
	case quoted == program:
	case p.OS == "windows": // where a single quote is an ordinary character
		program = `"` + program + `"`
	default:
		program = quoted
	}
	return program + " " + strings.Join(GuardArgs(p.KeepReadTools), " ")
}

func (p *planner) planCursorCLI() error {
	deny := []string{"Shell(*)", "Write(**)"}
	if !p.KeepReadTools {
		deny = append(deny, "Read(**)")
	}
	return p.editJSON(p.inWorkspace(".cursor/cli.json"),
		func(doc *document) (string, error) {
			if doc.find("permissions", "allow") == nil { // cursor-agent wants both
				if err := doc.merge(map[string]any{"permissions": map[string]any{"allow": []any{}}}); err != nil {
					return "", err
				}
			}
			err := doc.merge(map[string]any{"permissions": map[string]any{"deny": deny}})
			return fmt.Sprintf("the command-line agent's denials (%s)", strings.Join(deny, ", ")), err
		},
		func(doc, was *document) (string, error) {
			all := []string{"Shell(*)", "Write(**)", "Read(**)"}
			taken := p.takeDenials(doc, was, all)
			if allow := doc.find("permissions", "allow"); len(taken) > 0 && allow != nil && isEmpty(allow) && was.find("permissions", "allow") == nil {
				doc.take(was, "permissions", "allow")
			}
			return takenText("no longer denies", taken), nil
		})
}
