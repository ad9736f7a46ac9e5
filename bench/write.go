package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// measureWrite lets a governed write_to_file and the disk work that it cannot
// do without take turns, in the same workspace.
func measureWrite(ctx context.Context, s *suite) ([]Row, error) {
	dir, err := s.workspace(1)
	if err != nil {
		return nil, err
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
	if err := writeFile(filepath.Join(dir, "src", "keep"), ""); err != nil {
		return nil, err
	}
	governed := governedWrite(p, session, "src/governed.txt")
	if _, err := governed(); err != nil {
		return nil, err
	}
	record, err := lastLine(filepath.Join(dir, ".orchestration", "agent_trace.jsonl"))
	if err != nil {
		return nil, err
	}
	bare, err := newBareWrite(filepath.Join(dir, "bare"), len(record))
	if err != nil {
		return nil, err
	}
	defer bare.close()
	if err := settledFiles(ctx); err != nil {
		return nil, err
	}
	taken, err := interleave(ctx, pick(s.short, 60, 1000), governed, bare.write)
	if err != nil {
		return nil, err
	}
	return []Row{atMost("governed write_to_file, 4 KiB, full durability, stdio, p50, over its bare disk work",
		float64(taken[0].p50())/float64(taken[1].p50()), 1.5, times,
		fmt.Sprintf("governed %s; bare %s (4 flushes: journal, file, directory, ledger of %d bytes a record)", taken[0], taken[1], len(record)))}, nil
}

// governedWrite replaces one file with ever new content. What the session
// wrote counts as seen, so it may overwrite it.
func governedWrite(p *peer, session, path string) action {
	variant := 0
	return func() (time.Duration, error) {
		variant++
		took, _, err := p.call("write_to_file", args{"path": path, "content": content(fileSize, variant), "session": session})
		return took, err
	}
}

func lastLine(path string) ([]byte, error) {
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(all), []byte("\n"))
	return lines[len(lines)-1], nil
}

// bareWrite is the disk work of one governed write: the record written to a
// journal and flushed, a temporary file written and flushed, its rename, the
// flush of the directory, and the record appended to a ledger and flushed.
type bareWrite struct {
	dir             string
	journal, ledger *os.File
	record          []byte
	count           int
}

func newBareWrite(dir string, recordSize int) (*bareWrite, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	journal, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	ledger, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &bareWrite{dir: dir, journal: journal, ledger: ledger, record: append(bytes.Repeat([]byte("r"), recordSize), '\n')}, err
}

func (b *bareWrite) close() error { return errors.Join(b.journal.Close(), b.ledger.Close()) }

func (b *bareWrite) write() (time.Duration, error) {
	b.count++
	text := []byte(content(fileSize, b.count))
	return timed(func() error { return b.flushed(text) })()
}

func (b *bareWrite) flushed(text []byte) error {
	temp := filepath.Join(b.dir, "temp")
	if _, err := b.journal.WriteAt(b.record, 0); err != nil {
		return err
	}
	if err := flushData(b.journal); err != nil {
		return err
	}
	if err := writeFlushed(temp, text); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(b.dir, "file.txt")); err != nil {
		return err
	}
	if err := flushDir(b.dir); err != nil {
		return err
	}
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
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}
