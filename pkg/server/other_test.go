//go:build !unix

package server_test

import (
	"testing"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	t.Fatalf("%s: this system has no FIFOs, and the tests of paths need one", path)
}

func serveIfChild() {} // no test kills a server here
