package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// measureCommand lets execute_command and a plain shell run the same line in
// turn, in a workspace with many files.
func measureCommand(ctx context.Context, s *suite) ([]Row, error) {
	shell, err := exec.LookPath("sh")
	files := pick(s.short, 1_000, 10_000)
	name := fmt.Sprintf("execute_command of `true` less a plain `sh -c true`, p50, %s files", thousands(int64(files)))
	if err != nil {
		return []Row{notMeasured(name, "≤ 25 ms", "no sh")}, nil
	}
	dir, err := s.workspace(1)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := writeFile(filepath.Join(dir, "src", fmt.Sprint(i%100), fmt.Sprintf("%d.txt", i)), "content\n"); err != nil {
			return nil, err
		}
	}
	p, err := s.served(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	session, err := p.selects(intentID(0))
	if err != nil {
		return nil, err
	}
	plain := timed(func() error {
		cmd := exec.CommandContext(ctx, shell, "-c", "true")
		cmd.Dir, cmd.Env = dir, s.environment()
		return cmd.Run()
	})
	taken, err := interleave(ctx, pick(s.short, 20, 200), p.caller("execute_command", args{"command": "true", "session": session}), plain)
	if err != nil {
		return nil, err
	}
	added := ms(taken[0].p50() - taken[1].p50())
	return []Row{atMost(name, added, 25, milliseconds,
		fmt.Sprintf("governed %s; plain %s; at sandbox level %s, with both snapshots and the ledger's flush", taken[0], taken[1], sandbox.Probe().Level))}, nil
}
