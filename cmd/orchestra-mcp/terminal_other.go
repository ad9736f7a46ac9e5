//go:build !linux

package main

// terminalOf would have to look at the processes above this one.
func terminalOf() string { return "" }
