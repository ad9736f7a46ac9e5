package durable

import "strings"

// LstatAt describes what is at a path of several names. It follows links but the last, on Linux wherever they lead: whoever
// asks finds out by Lstat whether there are any.
func (d *Dir) LstatAt(path string) (Stat, error) { return d.Lstat(path) }

// openDirs opens the directory at a path by the names on the way, none of which may be a link's.
func (d *Dir) openDirs(path string) (*Dir, error) {
	at := d
	for name := range strings.SplitSeq(path, "/") {
		next, err := at.OpenDir(name)
		if at != d {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}
