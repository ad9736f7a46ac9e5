package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// measureCommand lets execute_command and a plain shell run the same line in
// turn, in a workspace with many files, at each level that this machine has.
// The bound is for the highest of them.
func measureCommand(ctx context.Context, s *suite) ([]Row, error) {
	shell, err := exec.LookPath("sh")
	files := pick(s.short, 1_000, 10_000)
	name := func(level sandbox.Level) string {
		return fmt.Sprintf("execute_command of `true` less a plain `sh -c true`, level %s, p50, %s files", level, thousands(int64(files)))
	}
	best := sandbox.Probe()
	if err != nil {
		return []Row{notMeasured(name(best.Level), "≤ 25 ms", "no sh")}, nil
	}
	plain := func(dir string) action {
		return timed(func() error {
			cmd := exec.CommandContext(ctx, shell, "-c", "true")
			cmd.Dir, cmd.Env = dir, s.environment()
			return cmd.Run()
		})
	}
	levels := []struct {
		level sandbox.Level
		serve func(dir string) (*peer, error)
	}{
		{sandbox.None, func(dir string) (*peer, error) { return s.served(ctx, dir, "ORCHESTRA_SANDBOX=off") }},
		{sandbox.Landlock, func(dir string) (*peer, error) { return landlocked(ctx, dir, best) }},
		{sandbox.Full, func(dir string) (*peer, error) { return s.served(ctx, dir) }},
	}
	var rows []Row
	for _, l := range levels {
		if l.level != sandbox.None && best.Level != sandbox.Full && best.Level != l.level {
			continue
		}
		taken, err := s.command(ctx, files, l.serve, plain)
		if err != nil {
			return rows, fmt.Errorf("level %s: %w", l.level, err)
		}
		added := ms(taken[0].p50() - taken[1].p50())
		detail := fmt.Sprintf("governed %s; plain %s; with the box, the looks at the workspace before and after, and the ledger's flushes", taken[0], taken[1])
		if l.level == best.Level {
			rows = append(rows, atMost(name(l.level), added, 25, milliseconds, detail))
		} else {
			rows = append(rows, inform(name(l.level), added, milliseconds, detail))
		}
	}
	return rows, nil
}

// command measures one level in a workspace of its own.
func (s *suite) command(ctx context.Context, files int, serve func(dir string) (*peer, error), plain func(dir string) action) ([]samples, error) {
	dir, err := s.workspace(1)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := writeFile(filepath.Join(dir, "src", fmt.Sprint(i%100), fmt.Sprintf("%d.txt", i)), "content\n"); err != nil {
			return nil, err
		}
	}
	p, err := serve(dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	session, err := p.selects(intentID(0))
	if err == nil {
		err = settledFiles(ctx)
	}
	if err != nil {
		return nil, err
	}
	return interleave(ctx, pick(s.short, 20, 200), p.caller("execute_command", args{"command": "true", "session": session}), plain(dir))
}

// landlocked serves from this process: no setting takes a level below the
// best of the machine.
func landlocked(ctx context.Context, dir string, best sandbox.Ability) (*peer, error) {
	best.Level = sandbox.Landlock
	srv, err := server.New(server.Options{
		Dir: dir, Settings: settings.Defaults(), Logger: zerolog.Nop(), Ability: func() sandbox.Ability { return best },
	})
	if err != nil {
		return nil, err
	}
	p := servedHere(ctx, srv)
	if _, err := p.initialize(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}
