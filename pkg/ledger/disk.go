package ledger

import "os"

// disk is what the ledger does to files and must not believe blindly. Tests make it fail.
type disk struct {
	write    func(*os.File, []byte) (int, error)
	rewrite  func(*os.File, []byte, int64) error // of what is there already
	truncate func(*os.File, int64) error
	flush    func(*os.File) error // of data and size
	flushDir func(*os.File) error
	rename   func(root *os.Root, from, to string) error
}

func realDisk() disk {
	return disk{
		write:    (*os.File).Write,
		rewrite:  func(f *os.File, b []byte, at int64) error { _, err := f.WriteAt(b, at); return err },
		truncate: (*os.File).Truncate,
		flush:    flushData,
		flushDir: flushDir,
		rename:   (*os.Root).Rename,
	}
}
