package clientsetup

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
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
	if err := p.planServer(p.inWorkspace(".cursor/mcp.json"), "mcpServers", ""); err != nil {
		return err
	}
	p.warnOfOtherServers("mcpServers")
	if err := p.editJSON(p.inWorkspace(".cursor/hooks.json"), p.addCursorHook); err != nil {
		return err
	}
	if err := p.planCursorCLI(); err != nil {
		return err
	}
	p.closes(
		"Cursor's agent is refused its shell, editing and deleting tools in this project by a hook that runs `orchestra-mcp client-guard` "+
			"before each tool (Cursor 1.7 or later; if the hook itself fails, Cursor refuses the tool).",
		"The command-line agent (cursor-agent) is denied Shell and Write by .cursor/cli.json.",
	)
	if p.KeepReadTools {
		p.leaves("Its own reading tools stay (--keep-read-tools): the server does not know what the agent has seen, and secret: rules do not bind them.")
	} else {
		p.closes("Its own reading tools are refused too: the server then knows what the agent has seen. --keep-read-tools leaves them.")
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
	if err := doc.mergeMissing(map[string]any{"version": 1}); err != nil {
		return "", err
	}
	if ours := doc.findGuard(); ours != nil {
		value, err := parseAddition(hook)
		if err != nil {
			return "", err
		}
		return "the hook is there", doc.mergeInto(ours, value, 3, []string{"hooks", "preToolUse"})
	}
	return "a hook before each tool", doc.merge(map[string]any{"hooks": map[string]any{"preToolUse": []any{hook}}})
}

// findGuard finds our handler, whatever binary it names, so that moving the binary does not leave a dead hook behind.
func (d *document) findGuard() *hujson.Value {
	list := d.root.Find("/hooks/preToolUse")
	if list == nil {
		return nil
	}
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	for i := range array.Elements {
		command := array.Elements[i].Find("/command")
		if command == nil {
			continue
		}
		literal, ok := command.Value.(hujson.Literal)
		if ok && strings.Contains(literal.String(), strings.Join(GuardArgs(false), " ")) {
			return &array.Elements[i]
		}
	}
	return nil
}

// guardCommand is a shell command line; a path that a shell would take apart is quoted.
func (p *planner) guardCommand() string {
	return quoteForShell(p.Command) + " " + strings.Join(GuardArgs(p.KeepReadTools), " ")
}

func quoteForShell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`/\:._-+@%`, r)
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if strings.Contains(word, `\`) { // Windows, where a single quote is an ordinary character
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (p *planner) planCursorCLI() error {
	deny := []string{"Shell(*)", "Write(**)"}
	if !p.KeepReadTools {
		deny = append(deny, "Read(**)")
	}
	err := p.editJSON(p.inWorkspace(".cursor/cli.json"), func(doc *document) (string, error) {
		if err := doc.mergeMissing(map[string]any{"permissions": map[string]any{"allow": []any{}}}); err != nil {
			return "", err
		}
		err := doc.merge(map[string]any{"permissions": map[string]any{"deny": deny}})
		return fmt.Sprintf("the command-line agent's denials (%s)", strings.Join(deny, ", ")), err
	})
	if err != nil {
		return err
	}
	p.warnIfNotStandard()
	return nil
}
