package main

import (
	"os"
	"strconv"
)

// terminalOf names the terminal that this process, or the nearest process above it, belongs to: by the session of its shell, and
// when that began. "" where there is none. A client starts its hooks apart from its terminal, but runs in it itself.
func terminalOf() string {
	pid := os.Getpid()
	for range maxAncestors {
		fields := statFields(pid)
		if len(fields) < 20 {
			return ""
		}
		session, terminal := fields[3], fields[4]
		if terminal != "0" {
			leader, err := strconv.Atoi(session)
			if began := statFields(leader); err == nil && len(began) >= 20 {
				return session + "@" + began[19]
			}
			return ""
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil || parent <= 1 {
			return ""
		}
		pid = parent
	}
	return ""
}
