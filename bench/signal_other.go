//go:build !unix

package main

import "os"

// terminate ends a server at once: there is no asking here.
func terminate() os.Signal { return os.Kill }
