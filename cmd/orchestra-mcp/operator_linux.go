package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// maxAncestors bounds the walk, in case the process table changes under it.
const maxAncestors = 256

// belowGovernedServer looks at the ancestors of this process: one that carries the marker of a server's command, or is
// a server, started us. What cannot be read (another user's process) belongs to nobody who could have marked it.
func belowGovernedServer() bool {
	pid := os.Getppid()
	for range maxAncestors {
		if pid <= 1 {
			return false
		}
		if carriesMarker(pid) || isServer(pid) {
			return true
		}
		pid = parentOf(pid)
	}
	return false
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

func carriesMarker(pid int) bool {
	environ, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(entry []byte) bool {
		return bytes.HasPrefix(entry, []byte(command.MarkerVariable+"="))
	})
}

// isServer recognises a running `orchestra-mcp serve` of the same binary.
func isServer(pid int) bool {
	ours, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	theirs, err := os.Stat(procFile(pid, "exe"))
	if err != nil || !os.SameFile(ours, theirs) {
		return false
	}
	line, err := os.ReadFile(procFile(pid, "cmdline"))
	return err == nil && slices.ContainsFunc(bytes.Split(line, []byte{0}), func(arg []byte) bool { return string(arg) == "serve" })
}

// parentOf reads the fourth field of stat; the second, a name in parentheses, can hold anything.
func parentOf(pid int) int {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
