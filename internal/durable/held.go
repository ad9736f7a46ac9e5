package durable

import "io/fs"

// Allow gives the owner of what stands under a name the rights that are missing.
func (d *Dir) Allow(name string, rights fs.FileMode) error {
	st, err := d.Lstat(name)
	if err != nil || st.Mode&rights == rights {
		return err
	}
	held, err := d.Hold(name)
	if err != nil {
		return err
	}
	defer held.Close()
	return held.Chmod(st.Mode | rights)
}

// Left reports whether a process that wrote its id and place down here is gone. Where that cannot be told, it is not.
func Left(pid int, where string) bool { return where != "" && where == Place() && Gone(pid) }
