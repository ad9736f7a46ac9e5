//go:build linux && !portable

package durable

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Raw is an open file of which nobody waits for anything: what os.File keeps for that costs more than reading a small file.
// Its methods may be called concurrently, but not with or after Close.
type Raw struct{ fd int }

// OpenRaw opens a regular file for reading, and describes what was opened. Anything else is ErrNotRegular.
func (d *Dir) OpenRaw(name string) (Raw, Stat, error) {
	fd, err := d.openat(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return Raw{}, Stat{}, err
	}
	var raw unix.Stat_t
	err = retry(func() error { return unix.Fstat(fd, &raw) })
	if err == nil && raw.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return Raw{}, Stat{}, named("open", name, err)
	}
	return Raw{fd}, statOfRaw(&raw), nil
}

// ReadSome reads what there is at a place, as much as there is room for or less; n is 0 at the end.
func (r Raw) ReadSome(b []byte, at int64) (n int, err error) {
	err = retry(func() error {
		n, err = unix.Pread(r.fd, b, at)
		return err
	})
	return max(n, 0), err
}

// Close lets go of the file.
func (r Raw) Close() error { return unix.Close(r.fd) }

// Names lists the directory, sorted by name.
func (d *Dir) Names() ([]Name, error) {
	fd, err := d.openat(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buffer := listings.Get().(*[listingSize]byte)
	defer listings.Put(buffer)
	var names []Name
	for {
		var n int
		err := retry(func() error {
			n, err = unix.Getdents(fd, buffer[:])
			return err
		})
		if err != nil {
			return nil, named("list", ".", err)
		}
		if n <= 0 {
			break
		}
		names = d.parse(names, buffer[:n])
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(a.Name, b.Name) })
	return names, nil
}

// listingSize is how much of a directory is read at once, in bytes.
const listingSize = 32 << 10

var listings = sync.Pool{New: func() any { return new([listingSize]byte) }}

// The places of the parts of a linux_dirent64, in bytes (getdents(2)).
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// parse adds the names of a piece of a listing. What a file system does not say is looked up.
func (d *Dir) parse(names []Name, entries []byte) []Name {
	all := string(entries) // one copy for all of the names
	for at := 0; at < len(entries); {
		entry := entries[at:]
		length := int(binary.NativeEndian.Uint16(entry[direntLength:]))
		end := bytes.IndexByte(entry[direntName:length], 0)
		name := all[at+direntName : at+direntName+end]
		if name != "." && name != ".." {
			mode := typeOf(uint32(entry[direntType]) << 12) // DT_REG is S_IFREG>>12, and so on
			known := entry[direntType] != unix.DT_UNKNOWN
			if !known {
				st, err := d.Lstat(name)
				mode, known = st.Mode.Type(), err == nil // or it was removed meanwhile
			}
			if known {
				names = append(names, Name{name, mode})
			}
		}
		at += length
	}
	return names
}
