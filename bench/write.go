package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// measureWrite lets a governed write_to_file and the disk work that it cannot do without take turns, in the same
// workspace.
func measureWrite(s *suite) {
	dir := s.workspace(1)
	p := s.served(dir)
	session := p.selects(intentID(0))
	writeFile(filepath.Join(dir, "src", "keep"), "")
	governed := governedWrite(p, session, "src/governed.txt")
	governed()
	record := lastLine(filepath.Join(dir, ".orchestration", "agent_trace.jsonl"))
	bare := s.newBareWrite(filepath.Join(dir, "bare"), len(record))
	s.awaitFiles()
	taken := s.interleave(pick(s.short, 60, 1000), governed, bare.write)
	s.add(atMost("governed write_to_file, 4 KiB, full durability, stdio, p50, over its bare disk work",
		float64(taken[0].p50())/float64(taken[1].p50()), 1.5, times,
		fmt.Sprintf("governed %s; bare %s (4 flushes: journal, file, directory, ledger of %d bytes a record)", taken[0], taken[1], len(record))))
}

// governedWrite replaces one file with ever new content. What the session wrote counts as seen, so it may overwrite it.
func governedWrite(p *peer, session, path string) action {
	variant := 0
	return func() time.Duration {
		variant++
		took, _ := p.call("write_to_file", args{"path": path, "content": content(fileSize, variant), "session": session})
		return took
	}
}

func lastLine(path string) []byte {
	lines := bytes.Split(bytes.TrimSpace(must(os.ReadFile(path))), []byte("\n"))
	return lines[len(lines)-1]
}

// bareWrite is the disk work of one governed write: the record written to a journal and flushed, a temporary file
// written and flushed, its rename, the flush of the directory, and the record appended to a ledger and flushed.
type bareWrite struct {
	dir             string
	journal, ledger *os.File
	record          []byte
	count           int
}

func (s *suite) newBareWrite(dir string, recordSize int) *bareWrite {
	check(os.MkdirAll(dir, 0o755))
	b := &bareWrite{dir: dir, record: append(bytes.Repeat([]byte("r"), recordSize), '\n')}
	b.journal = must(os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_WRONLY, 0o644))
	b.ledger = must(os.OpenFile(filepath.Join(dir, "ledger"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644))
	s.atEnd(func() error { return errors.Join(b.journal.Close(), b.ledger.Close()) })
	return b
}

func (b *bareWrite) write() time.Duration {
	text := b.next()
	return timed(func() { check(b.flushed(text)) })()
}

func (b *bareWrite) next() []byte {
	b.count++
	return []byte(content(fileSize, b.count))
}

// flushed does the work. Errors come from goroutines too, so they are returned.
func (b *bareWrite) flushed(text []byte) error {
	temp := filepath.Join(b.dir, "temp")
	for _, step := range []func() error{
		func() error { _, err := b.journal.WriteAt(b.record, 0); return err },
		func() error { return flushData(b.journal) },
		func() error { return writeFlushed(temp, text) },
		func() error { return os.Rename(temp, filepath.Join(b.dir, "file.txt")) },
		func() error { return flushDir(b.dir) },
		b.append,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// append is the ledger's part.
func (b *bareWrite) append() error {
	if _, err := b.ledger.Write(b.record); err != nil {
		return err
	}
	return flushData(b.ledger)
}

func writeFlushed(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
