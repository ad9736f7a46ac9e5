package ledger

import "os"

// disk is what the ledger does to files and must not believe blindly. Tests make it fail.
type disk struct {
	write    func(*os.File, []byte) (int, error)
	truncate func(*os.File, int64) error
	flush    func(*os.File) error // of data and size
	flushDir func(*os.File) error
	rename   func(root *os.Root, from, to string) error
}

func realDisk() disk {
	return disk{
		write:    (*os.File).Write,
		truncate: (*os.File).Truncate,
		flush:    flushData,
		flushDir: flushDir,
		rename:   (*os.Root).Rename,
	}
}
