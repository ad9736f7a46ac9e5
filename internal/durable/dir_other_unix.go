//go:build unix && (!linux || portable)

package durable

import "syscall"

// nonblock keeps an open from waiting for the other end of a FIFO that took the file's place.
const nonblock = syscall.O_NONBLOCK

// Sync flushes the directory's entries to disk.
func (d *Dir) Sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
