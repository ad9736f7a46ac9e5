// Package kernel has of the kernel what package syscall has not. It imports only what is initialised before almost all
// other packages, as package helper needs it.
package kernel
