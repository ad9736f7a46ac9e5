//go:build !unix

package intent_test

import (
	"os"
	"testing"
)

// makePipe makes a directory, where there are no pipes in the file system.
func makePipe(t *testing.T, file string) { must(t, os.Mkdir(file, 0o755)) }
