//go:build !race

package check

// Racing says whether the race detector is on.
const Racing = false
