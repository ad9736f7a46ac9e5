package workspace

import "os"

// OpenDir opens the directory that the check saw, for a command to start in. The file is the caller's to close. Errors:
// ErrNotExist, ErrNotRegular for what is no directory.
func (t *Target) OpenDir() (*os.File, error) {
	dir, err := t.openSelf()
	if err != nil {
		return nil, pathError("open", t.path, err)
	}
	f, err := dir.Open(".")
	return f, pathError("open", t.path, err)
}
