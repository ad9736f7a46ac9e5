//go:build race

package e2e_test

// buildFlags put the race detector into the program too when the tests have it.
func buildFlags() []string { return []string{"-race"} }

// slowness is how much more time and memory the race detector takes.
const slowness = 8
