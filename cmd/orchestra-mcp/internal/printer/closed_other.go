//go:build !windows

package printer

func isClosedByReader(error) bool { return false }
