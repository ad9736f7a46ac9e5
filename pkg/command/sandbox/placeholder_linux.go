package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
)

// standing is a placeholder that this process holds. Everybody who relies on one has a shared flock on it, and it is
// removed by who gets an exclusive one: the kernel takes the locks of the dead back, so that after a kill the next
// command, or Sweep, removes what was left.
type standing struct {
	path      string
	directory bool

	parent int // descriptor: the directory may be renamed meanwhile
	name   string
	fd     int
}

// standIn returns the path to freeze so that what stands at the path of f, or nothing, stays. Where nothing is, the outermost absent
// directory gets a placeholder; a file in the way of a directory is frozen itself. The path is "" where nothing can come into being.
func (l *layout) standIn(f Frozen) (path string, err error) {
	path, directory := f.Path, f.Directory
	for dir := f.Path; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case err != nil && !isAbsent(err):
			return "", err
		case err != nil || isPlaceholder(info):
			if path = dir; dir != f.Path || err == nil {
				directory = err != nil || info.IsDir()
			}
			continue
		case info.Mode()&os.ModeSymlink != 0:
			return "", errors.New("a link cannot be held in its place")
		case dir == f.Path || !info.IsDir():
			return dir, nil
		}
		break
	}
	p, err := placeAt(path, directory)
	if err != nil && closed(filepath.Dir(path), err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	l.placeholders = append(l.placeholders, p)
	return path, nil
}

// standInLayer is standIn below a layer, where what stands in for something absent is put into the layer: directly in the
// directory that it lies over. Deeper, what comes into being stays in the layer.
func (l *layout) standInLayer(f Frozen) (path string, err error) {
	if _, err := os.Lstat(f.Path); !isAbsent(err) {
		return l.standIn(f)
	}
	for _, layer := range l.profile.Layers {
		if filepath.Dir(f.Path) != layer.Path {
			continue
		}
		p, err := placeAt(filepath.Join(layer.Upper, filepath.Base(f.Path)), f.Directory)
		if err != nil {
			return "", err
		}
		p.path = f.Path // by which the command knows it
		l.placeholders = append(l.placeholders, p)
		return f.Path, nil
	}
	return "", nil
}

// closed reports whether nothing was put into a directory because nobody here can: the command, which has no more
// rights, cannot either, nor give itself the right, as the owner could.
func closed(dir string, err error) bool {
	if errors.Is(err, unix.EROFS) {
		return true
	}
	var info unix.Stat_t
	return errors.Is(err, unix.EACCES) && unix.Stat(dir, &info) == nil && int(info.Uid) != os.Geteuid()
}

// placeAt makes a placeholder, or shares the one that is there.
func placeAt(path string, directory bool) (*standing, error) {
	parent, err := openPlain(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Dir(path), err)
	}
	p := &standing{path: path, directory: directory, parent: parent, name: filepath.Base(path), fd: -1}
	for attempt := range 200 {
		var done bool
		if done, err = p.share(); !done && err == nil {
			done, err = p.make(placeholder.Content(path), directory)
		}
		if done {
			return p, nil
		}
		if err != nil {
			break
		}
		time.Sleep(min(time.Duration(attempt), 10) * 100 * time.Microsecond)
	}
	unix.Close(parent)
	if err == nil {
		err = errors.New("other programs keep changing it")
	}
	return nil, fmt.Errorf("put something in the place of %s: %w", path, err)
}

// share locks a placeholder that is there already.
func (p *standing) share() (done bool, err error) {
	fd, err := unix.Openat(p.parent, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil {
		p.fd = fd
		if p.untouched(p.name) {
			return true, nil
		}
		p.fd = -1
	}
	unix.Close(fd)
	return false, nil // it is being removed, or it is something else by now
}

// make makes one under another name, so that it never stands there without its mark and its lock.
func (p *standing) make(content string, directory bool) (done bool, err error) {
	temporary := placeholder.NewTemporary()
	fd, err := makeAt(p.parent, temporary, content, directory)
	if err != nil {
		return false, err
	}
	p.fd = fd
	stamp := unix.NsecToTimeval(placeholder.Time.UnixNano())
	if err = unix.Futimes(fd, []unix.Timeval{stamp, stamp}); err == nil {
		err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	}
	if err == nil {
		err = unix.Renameat2(p.parent, temporary, p.parent, p.name, unix.RENAME_NOREPLACE)
	}
	if err == nil {
		return true, nil
	}
	flags := 0
	if directory {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(p.parent, temporary, flags)
	unix.Close(fd)
	p.fd = -1
	if errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	return false, err
}

func makeAt(parent int, name, content string, directory bool) (fd int, err error) {
	if directory {
		if err := unix.Mkdirat(parent, name, 0o755); err != nil {
			return -1, err
		}
		return unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	fd, err = unix.Openat(parent, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil || content == "" {
		return fd, err
	}
	if _, err := unix.Write(fd, []byte(content)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// untouched reports whether what is open has a name, and says what a placeholder says. That a directory is empty is seen when
// it is removed.
func (p *standing) untouched(name string) bool {
	var info, named unix.Stat_t
	if unix.Fstat(p.fd, &info) != nil || unix.Fstatat(p.parent, name, &named, unix.AT_SYMLINK_NOFOLLOW) != nil ||
		info.Ino != named.Ino || info.Dev != named.Dev {
		return false
	}
	kind := map[uint32]fs.FileMode{unix.S_IFREG: 0, unix.S_IFDIR: fs.ModeDir}
	mode, ok := kind[info.Mode&unix.S_IFMT]
	if !ok || !placeholder.Marked(mode, info.Size, time.Unix(info.Mtim.Unix())) {
		return false
	}
	if mode.IsDir() {
		return true
	}
	content := make([]byte, placeholder.MaxSize)
	n, err := unix.Pread(p.fd, content, 0)
	return err == nil && string(content[:n]) == placeholder.Content(p.path)
}

// release removes the placeholder if nobody else needs it and nobody has made something of it.
func (p *standing) release() {
	defer unix.Close(p.parent)
	defer unix.Close(p.fd)
	if unix.Flock(p.fd, unix.LOCK_EX|unix.LOCK_NB) != nil || !p.untouched(p.name) {
		return
	}
	// A directory that somebody has put something into is not removed.
	if unix.Unlinkat(p.parent, p.name, unix.AT_REMOVEDIR) != unix.ENOTDIR {
		return
	}
	// A file is taken aside first: what is written into it at this moment must not be lost.
	aside := placeholder.NewTemporary()
	if unix.Renameat2(p.parent, p.name, p.parent, aside, unix.RENAME_NOREPLACE) != nil {
		return
	}
	if p.untouched(aside) {
		unix.Unlinkat(p.parent, aside, 0)
		return
	}
	unix.Renameat2(p.parent, aside, p.parent, p.name, unix.RENAME_NOREPLACE)
}

// isPlaceholder reports whether something can be a placeholder, also one that a kill left. Its content decides then.
func isPlaceholder(info fs.FileInfo) bool {
	return placeholder.Marked(info.Mode(), info.Size(), info.ModTime())
}

// Sweep removes the placeholders that commands left at the paths, or above
// them, when they and their server were killed. Those of running commands stay.
func Sweep(frozen []Frozen) {
	for _, f := range frozen {
		for path := f.Path; path != filepath.Dir(path); path = filepath.Dir(path) {
			if info, err := os.Lstat(path); err == nil && isPlaceholder(info) {
				sweepAt(path)
			}
		}
	}
}

func sweepAt(path string) {
	parent, err := openPlain(filepath.Dir(path))
	if err != nil {
		return
	}
	p := &standing{path: path, parent: parent, name: filepath.Base(path)}
	if done, _ := p.share(); !done {
		unix.Close(parent)
		return
	}
	p.release()
}
