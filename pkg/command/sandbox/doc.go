// Package sandbox holds a command inside a boundary that the kernel keeps.
//
// A [Box] says what a command may reach. A [Level] is how much of a Box this
// machine can hold a process to. The package starts the process; it neither
// judges a command nor looks for what it changed.
package sandbox
