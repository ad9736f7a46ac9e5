//go:build !unix

package workspace

func isLoop(error) bool { return false }
