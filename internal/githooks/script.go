package githooks

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

const (
	mark            = "# Written by orchestra-mcp git install-hooks; orchestra-mcp git install-hooks --remove takes it away."
	workspacePrefix = "# workspace: "
)

// render is the script of one hook. An interpreter reads a hook that was there before under its own name, because hooks
// look at $0 to find what belongs to them; a program that is no shell script is run as it is.
func render(hook, program string, workspaces []string) string {
	var text strings.Builder
	text.WriteString("#!/bin/sh\n" + mark + "\n")
	for _, w := range workspaces {
		text.WriteString(workspacePrefix + w + "\n")
	}
	text.WriteString(`saved="$(dirname "$0")/` + hook + savedSuffix + `"
if [ -x "$saved" ]; then
	first=
	IFS= read -r first <"$saved" || :
	case $first in
	'#!/bin/sh' | '#!/usr/bin/sh' | '#!/usr/bin/env sh') sh -c 'orchestra_saved=$1; shift; . "$orchestra_saved"' "$0" "$saved" "$@" ;;
	'#!/bin/sh -e') sh -e -c 'orchestra_saved=$1; shift; . "$orchestra_saved"' "$0" "$saved" "$@" ;;
	'#!/bin/bash' | '#!/usr/bin/bash' | '#!/usr/bin/env bash') bash -c 'orchestra_saved=$1; shift; . "$orchestra_saved"' "$0" "$saved" "$@" ;;
	*) "$saved" "$@" ;;
	esac
	code=$?
	[ "$code" -eq 0 ] || exit "$code"
fi
program=` + shellword.Quote(program) + `
if [ ! -x "$program" ]; then
	program=$(command -v orchestra-mcp) || {
		echo "orchestra-mcp: the program is gone, so its ` + hook + ` hook does nothing; install it, then run orchestra-mcp git install-hooks" >&2
		exit 0
	}
fi
`)
	for _, w := range workspaces {
		text.WriteString("[ ! -d " + shellword.Quote(w+"/.orchestration") + " ] || \"$program\" --workspace " + shellword.Quote(w) + " git hook " + hook +
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
