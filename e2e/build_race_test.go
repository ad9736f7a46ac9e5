//go:build race

package e2e_test

// buildFlags put the race detector into the program too when the tests have it.
func buildFlags() []string { return []string{"-race"} }
