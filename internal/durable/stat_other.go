//go:build !linux || portable

package durable

import "io/fs"

// identity is unused here: os.SameFile compares the whole info.
type identity struct{}

// Numbered is true: nobody knows numbers here.
func (s Stat) Numbered(_, _ uint64) bool { return true }

func statOf(info fs.FileInfo) Stat {
	return Stat{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), info: info}
}
