package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

const sessionCount = 8

// measureSessions compares the records per second of eight sessions at work
// with those of one, on one server: over one stdio connection and as eight
// clients over HTTP. Beside them stands how much the file system itself gains
// from eight, which no server can exceed by much.
func measureSessions(ctx context.Context, s *suite) ([]Row, error) {
	var rows []Row
	for _, way := range []struct {
		name string
		open func(context.Context, *suite, string) ([]func() error, func() error, error)
	}{
		{"8 sessions over 1, records/s of write_to_file, one stdio connection", stdioSessions},
		{"8 sessions over 1, records/s of write_to_file, 8 HTTP clients", httpSessions},
		{"8 bare writers over 1, writes/s without a server", bareWriters},
	} {
		dir, err := s.workspace(sessionCount)
		if err != nil {
			return rows, err
		}
		workers, end, err := way.open(ctx, s, dir)
		if err != nil {
			return rows, err
		}
		ratio, one, all, err := scaling(ctx, pick(s.short, 1, 5), pick(s.short, 300*time.Millisecond, 1500*time.Millisecond), workers)
		if errEnd := end(); err == nil {
			err = errEnd
		}
		if err != nil {
			return rows, err
		}
		detail := fmt.Sprintf("%.0f/s with 8, %.0f/s with 1", all, one)
		if len(rows) == 2 {
			rows = append(rows, inform(way.name, ratio, times, detail+"; each with a directory and a ledger of its own"))
			continue
		}
		rows = append(rows, atLeast(way.name, ratio, 2.5, times, detail))
	}
	return rows, nil
}

// writes makes a worker that replaces its own file with ever new content.
func writes(i int, session string, call func(args) error) func() error {
	variant := 0
	path := fmt.Sprintf("s%d/file.txt", i)
	return func() error {
		variant++
		return call(args{"path": path, "content": content(fileSize, variant), "session": session})
	}
}

func stdioSessions(ctx context.Context, s *suite, dir string) ([]func() error, func() error, error) {
	p, err := s.served(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	var handles []string
	for i := range sessionCount {
		handle, err := p.selects(intentID(i))
		if err != nil {
			return nil, nil, err
		}
		handles = append(handles, handle)
	}
	m := p.share()
	var workers []func() error
	for i, handle := range handles {
		workers = append(workers, writes(i, handle, func(a args) error { return m.call("write_to_file", a) }))
	}
	return workers, p.close, nil
}

func httpSessions(ctx context.Context, s *suite, dir string) ([]func() error, func() error, error) {
	h, err := s.serveHTTP(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	var workers []func() error
	for i := range sessionCount {
		c, err := h.connect(ctx)
		if err != nil {
			return nil, nil, err
		}
		answer, err := c.call(ctx, "select_active_intent", args{"intent_id": intentID(i)})
		if err != nil {
			return nil, nil, err
		}
		handle, err := handleOf(answer)
		if err != nil {
			return nil, nil, err
		}
		workers = append(workers, writes(i, handle, func(a args) error {
			_, err := c.call(ctx, "write_to_file", a)
			return err
		}))
	}
	return workers, h.close, nil
}

// recordSize is about what a write_to_file takes in the ledger, in bytes.
const recordSize = 1200

func bareWriters(_ context.Context, _ *suite, dir string) ([]func() error, func() error, error) {
	var workers []func() error
	var open []*bareWrite
	for i := range sessionCount {
		b, err := newBareWrite(filepath.Join(dir, fmt.Sprintf("bare%d", i)), recordSize)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, b)
		workers = append(workers, func() error {
			_, err := b.write()
			return err
		})
	}
	return workers, func() error {
		for _, b := range open {
			if err := b.close(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
