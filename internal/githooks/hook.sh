saved="$(dirname "$0")/{{hook}}.before-orchestra"
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
program={{program}}
start() { "$program"{{flags}} "$@"; }
if [ ! -x "$(command -v "$program")" ]; then
	program=$(command -v orchestra-mcp) || {
		echo "orchestra-mcp: the program is gone, so its {{hook}} hook does nothing; install it, then run orchestra-mcp git install-hooks" >&2
		exit 0
	}
	start() { "$program" "$@"; }
fi
