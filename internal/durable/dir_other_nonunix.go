//go:build !unix

package durable

const nonblock = 0

// Sync does nothing: directories cannot be flushed here.
func (d *Dir) Sync() error { return nil }
