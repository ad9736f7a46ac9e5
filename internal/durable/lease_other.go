//go:build !linux || portable

package durable

import "os"

// TakeLease is unsupported here.
func TakeLease(*os.File) error { return ErrUnsupported }

// DropLease does nothing here.
func DropLease(*os.File) {}

// KeepLease reports ErrUnsupported.
func KeepLease(*os.File) error { return ErrUnsupported }
