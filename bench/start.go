package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// measureStart is about a server that has nothing to do: how soon it answers, and what it holds while idle.
func measureStart(s *suite) {
	dir := s.workspace(1)
	writeFile(filepath.Join(dir, "file.txt"), content(fileSize, 0))
	first, called := s.starts(dir, pick(s.short, 5, 40))
	s.add(
		atMost("process start to the answer of initialize, empty ledger", ms(first.p50()), 30, milliseconds, first.String()),
		atMost("process start to the answer of a first tools/call (read_file)", ms(called.p50()), 30, milliseconds, called.String()),
	)
	p := s.served(dir)
	p.request("tools/list", map[string]any{})
	s.add(memoryOf(p, "memory (VmRSS) of an idle server, empty ledger"))
}

// starts starts the server n times and takes the time from before the start to the answers of initialize and of a
// tool call behind it.
func (s *suite) starts(dir string, n int) (first, called samples) {
	for range n {
		start := time.Now()
		p := s.started(dir)
		first = append(first, time.Since(start))
		p.call("read_file", args{"path": "file.txt"})
		called = append(called, time.Since(start))
		check(p.close())
	}
	return first, called
}

// memoryOf is the row of what a server holds.
func memoryOf(p *peer, name string) Row {
	held, err := resident(p.cmd.Process.Pid)
	if err != nil {
		return notMeasured(name, "≤ 64 MiB", err.Error())
	}
	return atMost(name, held, 64, mebibytes, fmt.Sprintf("%.1f MiB", held))
}
