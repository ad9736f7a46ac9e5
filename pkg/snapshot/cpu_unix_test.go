//go:build unix

package snapshot_test

import (
	"syscall"
	"time"
)

// cpu is what this process has used of the processors.
func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
