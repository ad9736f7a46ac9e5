//go:build !linux

package journal

import "os"

func flushData(f *os.File) error { return f.Sync() }
