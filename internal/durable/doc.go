// Package durable does single steps on files inside directories that are already open, so that a path
// which was checked once cannot lead anywhere else later.
//
// It promises that every operation takes place in the directory that a [Dir] was opened on, whatever has been moved, removed or
// replaced by a link since; that no operation follows a symbolic link in its last component; that opening never blocks on a FIFO
// or a device; and that what the file system cannot do is said with [ErrUnsupported], not imitated.
//
// It does not promise any order of steps, any rollback, nor that a name keeps its meaning between two
// calls: composing steps into a compare-and-swap is the business of package workspace.
//
// On Linux a Dir is a plain descriptor and each operation is one system call. Elsewhere, and on Linux with the build
// tag "portable" (which lets the tests run that code), it is an os.Root: links inside one directory are then told apart
// by comparing what was opened with what was seen before, and exchange, leases and extended attributes are unsupported.
package durable
