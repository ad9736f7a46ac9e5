//go:build !unix

package durable

import "os"

// Place cannot be told: a workspace can be shared with another machine or container.
func Place() string { return "" }

// Gone reports whether no process has an id.
func Gone(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	process.Release()
	return false
}
