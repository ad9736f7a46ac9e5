//go:build !linux || portable

package durable

import (
	"errors"
	"os"
)

// Reasons why a lease was not granted.
var (
	// ErrWriterOpen: somebody has the file open for writing.
	ErrWriterOpen = errors.New("another program has the file open for writing")
	// ErrLeaseRefused: the file belongs to another user, and only its owner may lease it.
	ErrLeaseRefused = errors.New("only the file's owner may lease it")
)

// TakeLease is unsupported here.
func TakeLease(*os.File) error { return ErrUnsupported }

// DropLease does nothing here.
func DropLease(*os.File) {}

// KeepLease reports ErrUnsupported.
func KeepLease(*os.File) error { return ErrUnsupported }
