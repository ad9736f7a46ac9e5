//go:build !race

package e2e_test

func buildFlags() []string { return nil }

const slowness = 1
