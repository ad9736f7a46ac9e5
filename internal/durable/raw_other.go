//go:build !linux || portable

package durable

import (
	"errors"
	"os"
)

// Raw is an open file. It is for one goroutine.
type Raw struct{ *os.File }

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
