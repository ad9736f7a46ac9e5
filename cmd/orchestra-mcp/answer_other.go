//go:build !windows

package main

func isClosedByReader(error) bool { return false }
