package durable

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// ErrUnsupported is returned, wrapped, for what this platform or file system cannot do.
var ErrUnsupported = errors.ErrUnsupported

// Reasons why a lease was not granted.
var (
	// ErrWriterOpen: somebody has the file open for writing.
	ErrWriterOpen = errors.New("another program has the file open for writing")
	// ErrLeaseRefused: the file belongs to another user, and only its owner or CAP_LEASE may lease it.
	ErrLeaseRefused = errors.New("only the file's owner may lease it")
)

// ErrCrossDevice is returned, wrapped, when two directories do not share a file system.
var ErrCrossDevice = errors.New("the two directories are on different file systems")

// Stat is what a file is, and which one.
type Stat struct {
	Mode    fs.FileMode
	Size    int64
	ModTime time.Time
	Links   uint64 // number of names, 0 where unknown
	// Changed is when the file, or an entry of the directory, was last changed in any way: no program can set it. Zero where unknown.
	Changed time.Time

	id   identity
	info fs.FileInfo // nil where the identity alone decides
}

// Same reports whether a and b describe one file, not merely equal ones.
func Same(a, b Stat) bool {
	if a.info != nil && b.info != nil {
		return os.SameFile(a.info, b.info)
	}
	return a.id == b.id && a.id != identity{}
}

// SamePath reports whether two paths lead to one file or directory, links followed.
func SamePath(a, b string) bool {
	left, leftErr := os.Stat(a)
	right, rightErr := os.Stat(b)
	return leftErr == nil && rightErr == nil && os.SameFile(left, right)
}

// Identity is a comparable value that tells files apart which are all there at the time, where the platform has numbers for them.
func (s Stat) Identity() any { return s.id }

// Unchanged reports whether b can be a later look at the same content as a. It is a hint: a writer that
// restores the modification time defeats it.
func Unchanged(a, b Stat) bool {
	return Same(a, b) && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
}

// StatFile describes an open file.
func StatFile(f *os.File) (Stat, error) {
	info, err := f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

// StatInfo is the Stat of what os.Lstat or the like has found.
func StatInfo(info fs.FileInfo) Stat { return statOf(info) }
