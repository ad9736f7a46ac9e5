//go:build !linux

package main

import (
	"errors"
	"os"
	"runtime"
)

func resident(int) (float64, error) {
	return 0, errors.New("the memory of another process is read on Linux only")
}

func flushData(f *os.File) error { return f.Sync() }

func flushDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows has no flush of a directory
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// exchangeNames is a rename where names cannot be exchanged.
func exchangeNames(a, b string) error { return os.Rename(a, b) }

func fileSystem(string) string { return "file system not named on this system" }

func loadAverage() string { return "" }

// syncDisk does nothing here.
func syncDisk() {}

// forgetCached does nothing here.
func forgetCached(string) error { return nil }
