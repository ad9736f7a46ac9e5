package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	readRow   = "read_file, 4 KiB, stdio, p50, over the reference TypeScript filesystem server"
	memoryRow = "memory (VmRSS) after these reads, over the reference server"
)

// measureRead lets our server and the reference server read the same file in turn.
func measureRead(s *suite) {
	command, why := s.reference()
	if why != "" {
		s.add(notMeasured(readRow, "≤ 0.50 ×", why), notMeasured(memoryRow, "≤ 0.25 ×", why))
		return
	}
	dir := s.workspace(1)
	file := filepath.Join(dir, "file.txt")
	writeFile(file, content(fileSize, 0))
	ours := s.served(dir)
	command.Args = append(command.Args, dir)
	theirs := startPeer(command)
	s.atEnd(theirs.close)
	theirs.initialize()
	s.awaitFiles() // the user's own directory too, which the first server has made
	taken := s.interleave(pick(s.short, 100, 2000),
		ours.caller("read_file", args{"path": "file.txt"}),
		theirs.caller("read_text_file", args{"path": file}))
	s.add(atMost(readRow, float64(taken[0].p50())/float64(taken[1].p50()), 0.5, times,
		fmt.Sprintf("ours %s; reference %s", taken[0], taken[1])), memoryRatio(ours, theirs))
}

func memoryRatio(ours, theirs *peer) Row {
	a, err := resident(ours.cmd.Process.Pid)
	b, errTheirs := resident(theirs.cmd.Process.Pid)
	if err := errors.Join(err, errTheirs); err != nil {
		return notMeasured(memoryRow, "≤ 0.25 ×", err.Error())
	}
	return atMost(memoryRow, a/b, 0.25, times, fmt.Sprintf("ours %.1f MiB; reference %.1f MiB", a, b))
}

// reference is the command of the reference server without its directory, or why there is none. Nothing is installed
// behind the user's back.
func (s *suite) reference() (*exec.Cmd, string) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, "no node"
	}
	script := filepath.Join(s.module, "bench", "node", "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	if _, err := os.Stat(script); errors.Is(err, fs.ErrNotExist) {
		return nil, "the reference server is not installed: npm ci --prefix bench/node"
	} else if err != nil {
		return nil, err.Error()
	}
	return s.command("", nil, node, script), ""
}
