//go:build !linux

package durable

import "os"

// CloseSoon closes f at once: not every system lets a name be used again while its file is open.
func CloseSoon(f *os.File) { f.Close() }
