//go:build !unix

package snapshot_test

import "time"

// cpu is what this process has used of the processors, which is not asked for here.
func cpu() time.Duration { return 0 }
