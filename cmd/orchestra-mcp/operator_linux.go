package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// maxAncestors bounds the walk, in case the process table changes under it.
const maxAncestors = 256

// belowGovernedServer looks at the ancestors of this process: one that carries the marker of a server's command, or is
// a server, started us. What cannot be read (another user's process) belongs to nobody who could have marked it.
func belowGovernedServer() bool { return belowGoverned(os.Getppid()) }

// belowGoverned tells whether a process, or one of its ancestors, carries the marker, or is a server.
func belowGoverned(pid int) bool {
	for range maxAncestors {
		if pid <= 1 {
			return isSandbox(pid)
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

// isSandbox recognises the first process of a sandbox's own process table, in which the server cannot be seen.
func isSandbox(pid int) bool {
	line, err := os.ReadFile(procFile(pid, "cmdline"))
	name, _, _ := strings.Cut(string(line), "\x00")
	return err == nil && name == sandbox.HelperName
}

// isServer recognises a running `orchestra-mcp serve` of the same binary, and `orchestra-mcp exec`, which is the parent of what a
// command leaves behind too.
func isServer(pid int) bool {
	ours, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	line, err := os.ReadFile(procFile(pid, "cmdline"))
	if err != nil {
		return false
	}
	args := strings.Split(string(line), "\x00")
	theirs, err := os.Stat(procFile(pid, "exe"))
	if errors.Is(err, fs.ErrPermission) {
		// A sandbox hides it; then the name has to do.
		return filepath.Base(args[0]) == filepath.Base(os.Args[0]) && runsCommands(args)
	}
	return err == nil && os.SameFile(ours, theirs) && runsCommands(args)
}

func runsCommands(args []string) bool {
	return slices.Contains(args, "serve") || slices.Contains(args, "exec")
}

// parentOf is 0 where nothing is known.
func parentOf(pid int) int {
	fields := statFields(pid)
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// statFields are those of a process's stat behind its name, which can hold anything: from its state on (proc(5)).
func statFields(pid int) []string {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}
