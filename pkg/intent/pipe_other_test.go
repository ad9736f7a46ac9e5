//go:build !unix

package intent_test

import (
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// makePipe makes a directory, where there are no pipes in the file system.
func makePipe(t *testing.T, file string) { check.OK(t, os.Mkdir(file, 0o755)) }
