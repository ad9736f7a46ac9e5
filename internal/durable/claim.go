package durable

import (
	"errors"
	"os"
)

// Claim makes a file and locks it, for as long as it is open. Others find out by IfFree that whoever claimed it is gone.
func (d *Dir) Claim(name string) (*os.File, error) {
	file, err := d.OpenLock(name)
	if err != nil {
		return nil, err
	}
	if got, err := TryLock(file); err != nil || !got {
		return nil, errors.Join(err, errors.New("a new file is locked"), file.Close())
	}
	return file, nil
}

// IfFree does something while it holds a claim, if nobody else does.
func (d *Dir) IfFree(name string, do func() error) error {
	file, err := d.OpenLock(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if free, err := TryLock(file); err != nil || !free {
		return err
	}
	return do()
}
