package clientrules

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// judgeCursor knows the permissions of Cursor's command line (cursor.com/docs/cli/reference/permissions) and the list of
// commands that the editor runs without asking, where that stands in a file (cursor.com/docs/reference/permissions). An event
// does not say which of both it is from, so a line is allowed where both allow it. Else the editor's own list can hold
// anything, and nobody can read it.
func judgeCursor(q Question, l *line) (Answer, error) {
	home := filepath.Join(q.Home, ".cursor")
	cli := append([]string{filepath.Join(home, "cli-config.json")}, below(q.places(), ".cursor/cli.json")...)
	if config := q.env("XDG_CONFIG_HOME"); config != "" {
		cli = append(cli, filepath.Join(config, "cursor/cli-config.json"))
	}
	var allow, deny []Answer
	for _, file := range cli {
		var s struct {
			Permissions struct {
				Allow []string `json:"allow"`
				Deny  []string `json:"deny"`
			} `json:"permissions"`
		}
		if err := readJSON(file, &s); err != nil {
			return Answer{}, err
		}
		for _, rule := range s.Permissions.Allow {
			allow = append(allow, Answer{Verdict: Allow, Rule: rule, File: file})
		}
		for _, rule := range s.Permissions.Deny {
			deny = append(deny, Answer{Verdict: Deny, Rule: rule, File: file})
		}
	}
	for _, rule := range deny {
		if slices.ContainsFunc(l.reading.Programs, rule.isCursors) {
			return rule, nil
		}
	}
	listed := false
	var editor []string
	for _, file := range below([]string{home, filepath.Join(q.Workspace, ".cursor")}, "permissions.json") {
		var s struct {
			Terminal *[]string `json:"terminalAllowlist"`
		}
		if err := readJSON(file, &s); err != nil {
			return Answer{}, err
		}
		if s.Terminal != nil {
			listed, editor = true, append(editor, *s.Terminal...)
		}
	}
	if !listed {
		return Answer{Why: "the commands that Cursor runs without asking stand where they cannot be read; give them as terminalAllowlist in ~/.cursor/permissions.json"}, nil
	}
	answer, ok := l.allowed(func(c command) (Answer, bool) {
		at := slices.IndexFunc(allow, func(r Answer) bool { return len(c.programs) > 0 && r.isCursors(c.programs[0]) })
		if at < 0 || !slices.ContainsFunc(editor, func(entry string) bool { return c.text == entry || strings.HasPrefix(c.text, entry+" ") }) {
			return Answer{}, false
		}
		return allow[at], true
	})
	if !ok {
		return Answer{Verdict: None}, nil
	}
	return answer, nil
}

// isCursors reads Shell(program), Shell(program:arguments) and patterns of these. A pattern that is not understood is not
// about any program.
func (rule Answer) isCursors(p shell.Program) bool {
	specifier, ok := strings.CutPrefix(rule.Rule, "Shell(")
	specifier, closed := strings.CutSuffix(specifier, ")")
	program, arguments, _ := strings.Cut(specifier, ":")
	words := strings.Join(p.Literal(), " ")
	called := []string{p.Path}
	if rule.Verdict == Deny {
		called = []string{p.Name, p.Name + " " + words}
	}
	return ok && closed && slices.ContainsFunc(called, newGlob(program, true, false).match) && newGlob(cmp.Or(arguments, "*"), true, false).match(words)
}
