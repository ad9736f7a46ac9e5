package orchdir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// maxFile bounds what is compared when a replacement looks at the content that it displaced.
const maxFile = 64 << 20

// Replace writes data to the named file if the file still has the content old; nil means that it must not exist yet.
// Otherwise it returns ErrChanged and the file is as the foreign writer left it. The data is on disk when Replace
// returns nil. Where the system can exchange two files atomically (Linux), the displaced content is looked at and put
// back if it is not old; elsewhere a foreign writer that does not take the lock can be missed between the last look
// and the rename.
func (l *Locked) Replace(name string, old, data []byte) error {
	if bytes.Equal(old, data) && old != nil {
		return nil
	}
	temp, err := l.writeTemp(name, data, stateName)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	err = l.swap(temp, name, old)
	if errors.Is(err, syscall.EXDEV) { // state/ is another file system
		_ = l.root.Remove(temp)
		if temp, err = l.writeTemp(name, data, "."); err == nil {
			err = l.swap(temp, name, old)
		}
	}
	if err != nil {
		if !errors.Is(err, errKeepTemp) {
			_ = l.root.Remove(temp)
		}
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return l.lock.Sync()
}

// errKeepTemp: the temporary file holds a foreign writer's content that could not be put back.
var errKeepTemp = errors.New("content of another program was displaced and is kept")

// swap moves the temporary file into place and disposes of what was there.
func (l *Locked) swap(temp, name string, old []byte) error {
	if old == nil {
		return l.create(temp, name)
	}
	switch err := l.exchange(temp, name); {
	case errors.Is(err, errors.ErrUnsupported):
		return l.checkAndRename(temp, name, old)
	case errors.Is(err, fs.ErrNotExist):
		return ErrChanged
	case err != nil:
		return err
	}
	return l.settle(temp, name, old)
}

// settle looks at what the exchange displaced. If it is not what the caller read, the exchange is undone; if that in
// turn displaces something that is not ours, a foreign writer came in between once more and the newest content wins.
func (l *Locked) settle(temp, name string, old []byte) error {
	displaced, _, err := ReadFile(l.root, temp, maxFile)
	if err == nil && bytes.Equal(displaced, old) {
		return l.root.Remove(temp)
	}
	ours, _, readErr := ReadFile(l.root, name, maxFile)
	if err := l.exchange(temp, name); err != nil {
		return fmt.Errorf("%w as %s/%s: %v", errKeepTemp, Name, temp, err)
	}
	back, _, err := ReadFile(l.root, temp, maxFile)
	if readErr != nil || err != nil || !bytes.Equal(back, ours) {
		return fmt.Errorf("%w as %s/%s: %w", errKeepTemp, Name, temp, ErrChanged)
	}
	return ErrChanged
}

// create puts a new file in place and fails if one is there.
func (l *Locked) create(temp, name string) error {
	err := l.root.Link(temp, name)
	switch {
	case err == nil:
		return l.root.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return ErrChanged
	}
	if _, statErr := l.root.Lstat(name); !errors.Is(statErr, fs.ErrNotExist) {
		return ErrChanged
	}
	return l.root.Rename(temp, name) // a file system without hard links
}

// checkAndRename is the way where files cannot be exchanged.
func (l *Locked) checkAndRename(temp, name string, old []byte) error {
	now, _, err := ReadFile(l.root, name, maxFile)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !bytes.Equal(now, old)) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	return l.root.Rename(temp, name)
}

// writeTemp writes data, flushed, to a new temporary file that has the mode of the file it is to replace.
func (l *Locked) writeTemp(name string, data []byte, dir string) (temp string, err error) {
	if err := l.makeState(); err != nil {
		return "", err
	}
	temp = dir + "/.orchestra-" + rand.Text() + ".tmp"
	mode := fs.FileMode(0o644)
	if info, err := l.root.Lstat(name); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	file, err := l.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = l.root.Remove(temp)
		}
	}()
	if _, err = file.Write(data); err != nil {
		return "", err
	}
	if err = file.Chmod(mode); err != nil {
		return "", err
	}
	return temp, file.Sync()
}

// makeState makes sure that state/ is a directory of ours and not a link to somewhere else.
func (l *Locked) makeState() error {
	if err := l.root.Mkdir(stateName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := l.root.Lstat(stateName)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s/%s is not a directory: move it away", Name, stateName)
	}
	return nil
}
