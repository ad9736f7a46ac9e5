package server_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// setAttribute reports whether the file system of the test takes one.
func setAttribute(t *testing.T, path string) bool {
	t.Helper()
	return unix.Setxattr(path, "user.orchestra.test", []byte("kept"), 0) == nil
}

func hasAttribute(t *testing.T, path string) bool {
	t.Helper()
	value := make([]byte, 16)
	n, err := unix.Getxattr(path, "user.orchestra.test", value)
	return err == nil && string(value[:n]) == "kept"
}
