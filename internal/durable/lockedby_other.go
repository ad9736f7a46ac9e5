//go:build !linux

package durable

import "os"

// LockedBy cannot be told here.
func LockedBy(*os.File) (pid int) { return 0 }
