//go:build !unix

package doctor

import "os"

// alive: a process has this id. It may be another one than the one that is meant.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	process.Release()
	return true
}
