package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of giving files of git a content of their own.
const (
	maxStore   = 100_000  // entries of one git directory
	maxPrivate = 64 << 20 // bytes of one file
	maxCopied  = 2 << 30  // bytes for one command
	atOnce     = 1000     // copies between two flushes
	maxDeep    = 64       // directories below each other
	directory  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	copyPrefix = "tmp_obj_" // git removes such files in time, where a crash leaves them
)

var (
	errStore   = fmt.Errorf("it has more than %d entries, or is nested too deeply (git gc makes them fewer)", maxStore)
	errNoStore = errors.New("its directory of objects is missing, or is a link")
	errCopies  = fmt.Errorf("more than %d bytes of its files have other names (hard links)", maxCopied)
)

// makePrivate gives each file of a git directory that has other names (hard links), as git makes them when it clones a
// path, a content of its own: who writes it then writes no other repository's. Content, permissions and time of
// modification stay. Left out are what skip names, packs, and files of more than 64 MiB, which it returns; paths are
// relative to the git directory.
//
// A file that others replace meanwhile stays theirs; what a program writes in that very moment into one that it had
// open, as git does with its logs, stays with the other names. After a crash each file is what it was or its copy, all
// of which are on disk before the first takes its place; what is left is a file of a name that git clears away. Names
// are followed one by one and never through a link.
func makePrivate(gitDir string, skip func(name string) bool) (large []string, err error) {
	top, err := unix.Open(gitDir, directory, 0)
	if err != nil {
		return nil, err
	}
	p := &privately{skip: skip, objects: -1}
	defer p.close()
	// Copies stand in the directory of the objects first: what is in that of a branch's name is a branch.
	p.objects, err = unix.Openat(top, "objects", directory, 0)
	if err != nil {
		p.objects = -1 // a matter of who has something to copy
	}
	dir := os.NewFile(uintptr(top), gitDir)
	if err := p.visit(dir, "", 0); err != nil {
		p.drop()
		return nil, err
	}
	return p.large, p.settle()
}

// privately is the work of one makePrivate.
type privately struct {
	skip    func(name string) bool
	objects int // a descriptor
	seen    int
	bytes   int64
	large   []string
	copies  []privateCopy
	held    []*os.File // directories of copies
}

// privateCopy is one that stands ready.
type privateCopy struct {
	dir  *os.File
	name string // in dir
	path string // relative to the git directory
	temp string // of the copy, in objects
	was  unix.Stat_t
}

func (p *privately) close() {
	for _, dir := range p.held {
		dir.Close()
	}
	if p.objects >= 0 {
		_ = unix.Close(p.objects)
	}
}

// visit takes the directory over.
func (p *privately) visit(dir *os.File, at string, depth int) error {
	entries, err := dir.ReadDir(-1)
	if p.seen += len(entries); err == nil && (p.seen > maxStore || depth > maxDeep) {
		err = errStore
	}
	for _, e := range entries {
		if err != nil {
			break
		}
		name := path.Join(at, e.Name())
		switch {
		case p.skip(name):
		case e.IsDir():
			err = p.below(dir, e.Name(), name, depth)
		case e.Type().IsRegular():
			err = p.file(dir, e.Name(), name)
		}
	}
	if slices.ContainsFunc(p.copies, func(c privateCopy) bool { return c.dir == dir }) {
		p.held = append(p.held, dir)
		if err == nil && len(p.copies) >= atOnce {
			err = p.settle()
		}
		return err
	}
	return errors.Join(err, dir.Close())
}

func (p *privately) below(dir *os.File, name, at string, depth int) error {
	fd, err := unix.Openat(int(dir.Fd()), name, directory, 0)
	if gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return p.visit(os.NewFile(uintptr(fd), name), at, depth+1)
}

// gone reports that a name was removed or replaced meanwhile.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// file makes a copy of a file that has other names.
func (p *privately) file(dir *os.File, name, at string) error {
	var was unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &was, unix.AT_SYMLINK_NOFOLLOW); gone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if was.Nlink < 2 || was.Mode&unix.S_IFMT != unix.S_IFREG || path.Dir(at) == "objects/pack" {
		return nil
	}
	if me := os.Geteuid(); me != 0 && int(was.Uid) != me && was.Mode&0o022 == 0 {
		return nil // the command cannot write it either
	}
	if was.Size > maxPrivate {
		p.large = append(p.large, at)
		return nil
	}
	if p.objects < 0 {
		return errNoStore
	}
	if p.bytes += was.Size; p.bytes > maxCopied {
		return errCopies
	}
	c := privateCopy{dir: dir, name: name, path: at, temp: fmt.Sprintf("%s%016x", copyPrefix, rand.Uint64()), was: was}
	if err := p.copy(&c); err != nil {
		_ = unix.Unlinkat(p.objects, c.temp, 0)
		if gone(err) {
			return nil
		}
		return fmt.Errorf("%s: %w", at, err)
	}
	p.copies = append(p.copies, c)
	return nil
}

func (p *privately) copy(c *privateCopy) error {
	fd, err := unix.Openat(int(c.dir.Fd()), c.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	from := os.NewFile(uintptr(fd), c.name)
	defer from.Close()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || !sameFile(&c.was, &now) {
		return errors.Join(err, errChanged)
	}
	fd, err = unix.Openat(p.objects, c.temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), c.temp)
	defer to.Close()
	if n, err := io.Copy(to, from); err != nil || n != c.was.Size {
		return errors.Join(err, errChanged)
	}
	if int(c.was.Uid) != os.Geteuid() || int(c.was.Gid) != os.Getegid() {
		if err := to.Chown(int(c.was.Uid), int(c.was.Gid)); err != nil {
			return err
		}
	}
	if err := to.Chmod(fs.FileMode(c.was.Mode & 0o777)); err != nil {
		return err
	}
	return unix.UtimesNanoAt(p.objects, c.temp, []unix.Timespec{c.was.Atim, c.was.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// settle puts the copies in the places of the files.
func (p *privately) settle() error {
	if len(p.copies) == 0 {
		return nil
	}
	defer p.drop()
	if err := unix.Syncfs(p.objects); err != nil {
		return err
	}
	for i := range p.copies {
		c := &p.copies[i]
		if err := p.replace(c); err != nil && !gone(err) {
			return fmt.Errorf("%s: %w", c.path, err)
		}
	}
	return nil
}

// replace exchanges a file with its copy, and back if it is not the file that was copied.
func (p *privately) replace(c *privateCopy) error {
	swap := func() error {
		return unix.Renameat2(p.objects, c.temp, int(c.dir.Fd()), c.name, unix.RENAME_EXCHANGE)
	}
	err := swap()
	if errors.Is(err, unix.EINVAL) && strings.HasPrefix(c.path, "objects/") {
		// The file system cannot exchange. Objects never change: any file of this name is as good.
		return unix.Renameat(p.objects, c.temp, int(c.dir.Fd()), c.name)
	}
	if err != nil {
		return err
	}
	var out unix.Stat_t
	if err := unix.Fstatat(p.objects, c.temp, &out, unix.AT_SYMLINK_NOFOLLOW); err != nil || !sameFile(&c.was, &out) {
		return errors.Join(errChanged, err, swap())
	}
	return nil
}

// drop removes what stands in the place of the copies: these, or after an exchange the other names' files.
func (p *privately) drop() {
	for i := range p.copies {
		_ = unix.Unlinkat(p.objects, p.copies[i].temp, 0)
	}
	p.copies = nil
}

func sameFile(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtim == b.Mtim && a.Mode == b.Mode
}
