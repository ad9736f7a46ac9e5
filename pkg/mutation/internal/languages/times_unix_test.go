//go:build unix

package languages_test

import (
	"syscall"
	"time"
)

// processorTime is what the process used of the processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
