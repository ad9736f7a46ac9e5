package githooks

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

const (
	mark            = "# Written by orchestra-mcp git install-hooks; orchestra-mcp git install-hooks --remove takes it away."
	workspacePrefix = "# workspace: "
)

// common is what a script does before it calls the program for its workspaces.
//
//go:embed hook.sh
var common string

// render is the script of one hook, which starts the program by the words of start. An interpreter reads a hook that was there before under its own name, because hooks
// look at $0 to find what belongs to them; a program that is no shell script is run as it is.
func render(hook string, start, workspaces []string) string {
	var text, flags strings.Builder
	for _, flag := range start[1:] {
		flags.WriteString(" " + shellword.Quote(flag))
	}
	text.WriteString("#!/bin/sh\n" + mark + "\n")
	for _, w := range workspaces {
		text.WriteString(workspacePrefix + w + "\n")
	}
	text.WriteString(strings.NewReplacer("{{hook}}", hook, "{{program}}", shellword.Quote(filepath.ToSlash(start[0])), "{{flags}}", flags.String()).Replace(common))
	for _, w := range workspaces {
		text.WriteString("[ ! -d " + shellword.Quote(w+"/.orchestration") + " ] || start --workspace " + shellword.Quote(w) + " git hook " + hook +
			" \"$@\" </dev/null || :\n")
	}
	text.WriteString("exit 0\n")
	return text.String()
}

// parse gives the workspaces of one of our scripts.
func parse(script string) (workspaces []string, ours bool) {
	lines := strings.Split(script, "\n")
	if len(lines) < 2 || lines[1] != mark {
		return nil, false
	}
	for _, line := range lines[2:] {
		if w, ok := strings.CutPrefix(line, workspacePrefix); ok {
			workspaces = append(workspaces, w)
		}
	}
	slices.Sort(workspaces)
	return slices.Compact(workspaces), true
}
