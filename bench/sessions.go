package main

import (
	"fmt"
	"path/filepath"
	"time"
)

const sessionCount = 8

// measureSessions compares the records per second of eight sessions at work with those of one, on one server: over
// one stdio connection and as eight clients over HTTP. Beside them stands how much the file system itself gains from
// eight, which no server can exceed by much.
func measureSessions(s *suite) {
	for i, way := range []struct {
		name string
		open func(*suite, string) []func() error
	}{
		{"8 sessions over 1, records/s of write_to_file, one stdio connection", (*suite).stdioSessions},
		{"8 sessions over 1, records/s of write_to_file, 8 HTTP clients", (*suite).httpSessions},
		{"8 bare writers over 1, writes/s without a server", (*suite).bareWriters},
	} {
		workers := way.open(s, s.workspace(sessionCount))
		ratio, one, all := s.scaling(pick(s.short, 1, 5), pick(s.short, 300*time.Millisecond, 1500*time.Millisecond), workers)
		detail := fmt.Sprintf("%.0f/s with 8, %.0f/s with 1", all, one)
		if i == 2 {
			s.add(inform(way.name, ratio, times, detail+"; each with a directory and a ledger of its own"))
		} else {
			s.add(atLeast(way.name, ratio, 2.5, times, detail))
		}
	}
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

func (s *suite) stdioSessions(dir string) (workers []func() error) {
	p := s.served(dir)
	var handles []string
	for i := range sessionCount {
		handles = append(handles, p.selects(intentID(i)))
	}
	m := p.share()
	for i, handle := range handles {
		workers = append(workers, writes(i, handle, func(a args) error { return m.call("write_to_file", a) }))
	}
	return workers
}

func (s *suite) httpSessions(dir string) (workers []func() error) {
	h := s.serveHTTP(dir)
	for i := range sessionCount {
		c := h.connect(s.ctx)
		handle := handleOf(must(c.call(s.ctx, "select_active_intent", args{"intent_id": intentID(i)})))
		workers = append(workers, writes(i, handle, func(a args) error {
			_, err := c.call(s.ctx, "write_to_file", a)
			return err
		}))
	}
	return workers
}

// recordSize is about what a write_to_file takes in the ledger, in bytes.
const recordSize = 1200

func (s *suite) bareWriters(dir string) (workers []func() error) {
	for i := range sessionCount {
		b := s.newBareWrite(filepath.Join(dir, fmt.Sprintf("bare%d", i)), recordSize)
		workers = append(workers, func() error { return b.flushed(b.next()) })
	}
	return workers
}
