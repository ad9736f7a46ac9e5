package journal

import (
	"os"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// FailFlush makes every later flush of an entry fail.
func (j *Journal) FailFlush(err error) { j.flush = func(*os.File) error { return err } }

// FailWrite makes every later write of an entry fail after n bytes.
func (j *Journal) FailWrite(n int, err error) {
	j.write = func(f *os.File, b []byte) error {
		_, _ = f.WriteAt(b[:min(n, len(b))], 0)
		return err
	}
}

// Abandon ends the process's hold on an entry as its death would.
func (f *Inflight) Abandon() { f.Leave() }

// Written has the entry written by another process of this machine, whose lock is held here.
func (f *Inflight) Written(e Entry, pid int) error {
	e.PID, e.Place = pid, durable.Place()
	content, err := encode(e)
	if err != nil {
		return err
	}
	_, err = f.s.file.WriteAt(content, 0)
	return err
}
