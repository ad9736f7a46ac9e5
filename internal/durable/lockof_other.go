//go:build !linux || portable

package durable

import "os"

// LocksOf reports whether there is TryLockOf.
const LocksOf = false

// TryLockOf is unsupported here: [TryLock] locks the file itself.
func TryLockOf(*os.File, Stat) (bool, error) { return false, ErrUnsupported }

// UnlockOf does nothing here.
func UnlockOf(*os.File) {}
