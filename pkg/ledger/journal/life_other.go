//go:build !unix

package journal

import "os"

// place cannot be told: a workspace can be shared with another machine or container.
func place() string { return "" }

// gone reports whether no process has an id.
func gone(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	process.Release()
	return false
}
