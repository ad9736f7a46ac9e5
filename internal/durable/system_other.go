//go:build !linux

package durable

import "os"

// FlushData brings a file to disk.
func FlushData(f *os.File) error { return f.Sync() }

// LockedBy cannot be told here.
func LockedBy(*os.File) (pid int) { return 0 }
