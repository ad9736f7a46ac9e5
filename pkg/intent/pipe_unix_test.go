//go:build unix

package intent_test

import (
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func makePipe(t *testing.T, file string) { check.OK(t, syscall.Mkfifo(file, 0o644)) }
