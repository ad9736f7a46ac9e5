package main

import (
	"fmt"
	"path/filepath"
)

const sessionCount = 8

// measureSessions compares the records per second of eight sessions at work with those of one, on one server. Beside it
// stands how much the file system itself gains from eight, which no server can exceed by much.
func measureSessions(s *suite) {
	ratio, detail := s.scaling(s.sessions(s.workspace(sessionCount)))
	s.add(atLeast("8 sessions over 1, records/s of write_to_file, one stdio connection", ratio, 2.5, times, detail))
	ratio, detail = s.scaling(s.bareWriters(s.workspace(sessionCount)))
	s.add(inform("8 bare writers over 1, writes/s without a server", ratio, times, detail+"; each with a directory and a ledger of its own"))
}

// sessions are workers that each replace a file of their own with ever new content.
func (s *suite) sessions(dir string) (workers []func() error) {
	p := s.served(dir)
	var handles []string
	for i := range sessionCount {
		handles = append(handles, p.selects(intentID(i)))
	}
	m := p.share()
	for i, handle := range handles {
		variant, path := 0, fmt.Sprintf("s%d/file.txt", i)
		workers = append(workers, func() error {
			variant++
			return m.call("write_to_file", args{"path": path, "content": content(fileSize, variant), "session": handle})
		})
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
