package main

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// measureCommand lets execute_command and a plain shell run the same line in turn, in a workspace with many files, at
// each level that this machine has. The bound is for the highest of them.
func measureCommand(s *suite) {
	shell, err := exec.LookPath("sh")
	files := pick(s.short, 1_000, 10_000)
	name := func(level sandbox.Level) string {
		return fmt.Sprintf("execute_command of `true` less a plain `sh -c true`, level %s, p50, %s files", level, thousands(int64(files)))
	}
	best := sandbox.Probe()
	if err != nil {
		s.add(notMeasured(name(best.Level), "≤ 25 ms", "no sh"))
		return
	}
	for _, l := range []struct {
		level sandbox.Level
		serve func(dir string) *peer
	}{
		{sandbox.None, func(dir string) *peer { return s.served(dir, "ORCHESTRA_SANDBOX=off") }},
		{sandbox.Landlock, func(dir string) *peer { return s.landlocked(dir, best) }},
		{sandbox.Full, func(dir string) *peer { return s.served(dir) }},
	} {
		if l.level != sandbox.None && best.Level != sandbox.Full && best.Level != l.level {
			continue
		}
		dir := s.workspace(1)
		for i := range files {
			writeFile(filepath.Join(dir, "src", fmt.Sprint(i%100), fmt.Sprintf("%d.txt", i)), "content\n")
		}
		p := l.serve(dir)
		session := p.selects(intentID(0))
		s.awaitFiles()
		taken := s.interleave(pick(s.short, 20, 200), p.caller("execute_command", args{"command": "true", "session": session}),
			timed(func() { check(s.command(dir, nil, shell, "-c", "true").Run()) }))
		added := ms(taken[0].p50() - taken[1].p50())
		detail := fmt.Sprintf("governed %s; plain %s; with the sandbox, the state of the workspace before and after, and the ledger's flushes", taken[0], taken[1])
		if l.level == best.Level {
			s.add(atMost(name(l.level), added, 25, milliseconds, detail))
		} else {
			s.add(inform(name(l.level), added, milliseconds, detail))
		}
	}
}

// landlocked serves from this process: no setting takes a level below the best of the machine.
func (s *suite) landlocked(dir string, best sandbox.Ability) *peer {
	best.Level = sandbox.Landlock
	return s.servedHere(must(server.New(server.Options{
		Dir: dir, Settings: settings.Defaults(), Logger: zerolog.Nop(), Ability: func() sandbox.Ability { return best },
	})))
}
