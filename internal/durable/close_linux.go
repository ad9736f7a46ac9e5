package durable

import "os"

// CloseSoon closes a file that was only read, without having the caller wait for what its last close sets free.
func CloseSoon(f *os.File) { go f.Close() }
