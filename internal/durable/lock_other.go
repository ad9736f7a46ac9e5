//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package durable

import "os"

// TryLock is unsupported here: writers are serialised within the process only.
func TryLock(*os.File) (bool, error) { return false, ErrUnsupported }

// TryShare is unsupported here.
func TryShare(*os.File) (bool, error) { return false, ErrUnsupported }

// Unlock does nothing here.
func Unlock(*os.File) error { return nil }
