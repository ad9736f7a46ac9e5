//go:build unix

package intent_test

import (
	"syscall"
	"testing"
)

func makePipe(t *testing.T, file string) { must(t, syscall.Mkfifo(file, 0o644)) }
