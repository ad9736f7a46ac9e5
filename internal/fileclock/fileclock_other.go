//go:build !linux

package fileclock

import "time"

// Now is nanoseconds since 1970.
func Now() int64 { return time.Now().UnixNano() }
