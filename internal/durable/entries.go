package durable

import (
	"io/fs"
	"os"
	"slices"
	"strings"
)

func sortedEntries(f *os.File) ([]fs.DirEntry, error) {
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
