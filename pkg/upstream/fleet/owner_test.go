package fleet_test

import (
	"os"
)

// ownIfOwner makes the test binary a process that has a fleet, and is killed.
func ownIfOwner() {
	if len(os.Args) > 1 && os.Args[1] == "own" {
		os.Exit(0)
	}
}
