//go:build !linux || portable

package durable

import (
	"errors"
	"io"
	"os"
)

// Raw is an open file. Its methods may be called concurrently, but not with or after Close.
type Raw struct{ file *os.File }

// ReadSome reads what there is at a place, as much as there is room for or less; n is 0 at the end.
func (r Raw) ReadSome(b []byte, at int64) (n int, err error) {
	n, err = r.file.ReadAt(b, at)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Close lets go of the file.
func (r Raw) Close() error { return r.file.Close() }

// OpenRaw opens a regular file for reading, and describes what was opened. Anything else is an error.
func (d *Dir) OpenRaw(name string) (Raw, Stat, error) {
	f, err := d.Open(name)
	if err != nil {
		return Raw{}, Stat{}, err
	}
	st, err := StatFile(f)
	if err == nil && !st.Mode.IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return Raw{}, Stat{}, errors.Join(err, f.Close())
	}
	return Raw{f}, st, nil
}

// Names lists the directory, sorted by name.
func (d *Dir) Names() ([]Name, error) {
	entries, err := d.ReadDir()
	names := make([]Name, 0, len(entries))
	for _, e := range entries {
		names = append(names, Name{e.Name(), e.Type()})
	}
	return names, err
}
