package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// measureStart is about a server that has nothing to do: how soon it answers,
// and what it holds while idle.
func measureStart(ctx context.Context, s *suite) ([]Row, error) {
	dir, err := s.workspace(1)
	if err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, "file.txt"), content(fileSize, 0)); err != nil {
		return nil, err
	}
	first, called, err := s.starts(ctx, dir, pick(s.short, 5, 40))
	if err != nil {
		return nil, err
	}
	rows := []Row{
		atMost("process start to the answer of initialize, empty ledger", ms(first.p50()), 30, milliseconds, first.String()),
		atMost("process start to the answer of a first tools/call (read_file)", ms(called.p50()), 30, milliseconds, called.String()),
	}
	idle, err := s.idle(ctx, dir)
	if err != nil {
		return rows, err
	}
	return append(rows, idle("memory (VmRSS) of an idle server, empty ledger")), nil
}

// starts starts the server n times and takes the time from before the start
// to the answers of initialize and of a tool call behind it.
func (s *suite) starts(ctx context.Context, dir string, n int) (first, called samples, err error) {
	for range n {
		a, b, err := s.startOnce(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		first, called = append(first, a), append(called, b)
	}
	return first, called, nil
}

func (s *suite) startOnce(ctx context.Context, dir string) (first, called time.Duration, err error) {
	start := time.Now()
	p, err := s.served(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	first = time.Since(start)
	_, _, err = p.call("read_file", args{"path": "file.txt"})
	called = time.Since(start)
	return first, called, errors.Join(err, p.close())
}

// idle makes the row of a server that has answered its first requests.
func (s *suite) idle(ctx context.Context, dir string) (func(name string) Row, error) {
	p, err := s.served(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if _, _, err := p.request("tools/list", map[string]any{}); err != nil {
		return nil, err
	}
	return memoryRowOf(p), nil
}

func memoryRowOf(p *peer) func(name string) Row {
	held, err := resident(p.cmd.Process.Pid)
	return func(name string) Row {
		if err != nil {
			return notMeasured(name, "≤ 64 MiB", err.Error())
		}
		return atMost(name, held, 64, mebibytes, fmt.Sprintf("%.1f MiB", held))
	}
}
