//go:build !linux || portable

package snapshot

import "os"

// closed: nobody tells.
func closed(*os.File) bool { return false }
