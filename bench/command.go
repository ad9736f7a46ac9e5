package main

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// measureCommand lets execute_command and a plain shell run the same line in turn, in a workspace with many files, at
// the highest level that this machine has.
func measureCommand(s *suite) {
	files := pick(s.short, 1_000, 10_000)
	name := fmt.Sprintf("execute_command of `true` less a plain `sh -c true`, level %s, p50, %s files", sandbox.Probe().Level, thousands(int64(files)))
	shell, err := exec.LookPath("sh")
	if err != nil {
		s.add(notMeasured(name, "≤ 25 ms", "no sh"))
		return
	}
	dir := s.workspace(1)
	for i := range files {
		writeFile(filepath.Join(dir, "src", fmt.Sprint(i%100), fmt.Sprintf("%d.txt", i)), "content\n")
	}
	p := s.served(dir)
	session := p.selects(intentID(0))
	s.awaitFiles()
	taken := s.interleave(pick(s.short, 20, 200), p.caller("execute_command", args{"command": "true", "session": session}),
		timed(func() { check(s.command(dir, nil, shell, "-c", "true").Run()) }))
	s.add(atMost(name, ms(taken[0].p50()-taken[1].p50()), 25, milliseconds, fmt.Sprintf(
		"governed %s; plain %s; with the sandbox, the state of the workspace before and after, and the ledger's flushes", taken[0], taken[1])))
}
