//go:build linux && !portable

package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Bounds of giving files of git a content of their own.
const (
	maxStore   = 100_000    // entries of one git directory
	maxPrivate = 64 << 20   // bytes of one file
	maxCopied  = 2 << 30    // bytes for one command
	atOnce     = 1000       // copies between two flushes
	maxDeep    = 64         // directories below each other
	copyPrefix = "tmp_obj_" // git removes such files in time, where a crash leaves them
)

var (
	errStore   = fmt.Errorf("it has more than %d entries, or is nested too deeply (git gc makes them fewer)", maxStore)
	errNoStore = errors.New("its directory of objects is missing, or is a link")
	errCopies  = fmt.Errorf("more than %d bytes of its files have other names (hard links)", maxCopied)
)

// makePrivate gives each file of a git directory that has other names (hard links), as git makes them when it clones a path, a content
// of its own: who writes it then writes no other repository's. Content, permissions and time of modification stay. Left out are what
// skip names, packs, and files of more than 64 MiB, which it returns; paths are relative to the git directory.
//
// A file that others replace meanwhile stays theirs; what a program writes in that very moment into one that it had open, as git does
// with its logs, stays with the other names. After a crash each file is what it was or its copy, all of which are on disk before the
// first takes its place; what is left is a file of a name that git clears away. Names are followed one by one and never through a link.
func makePrivate(gitDir string, skip func(name string) bool) (large []string, err error) {
	above, err := openDir(filepath.Dir(gitDir))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	top, err := above.OpenDir(filepath.Base(gitDir))
	if err != nil {
		return nil, err
	}
	p := &privately{skip: skip}
	// Copies stand in the directory of the objects first: what is in that of a branch's name is a branch.
	if p.objects, err = top.OpenDir("objects"); err == nil { // else it is a matter of who has something to copy
		defer p.objects.Close()
	}
	err = p.visit(top, "", 0)
	if err == nil {
		err = p.settle()
	}
	p.drop()
	for _, dir := range p.held {
		dir.Close()
	}
	return p.large, err
}

// privately is the work of one makePrivate.
type privately struct {
	skip    func(name string) bool
	objects *durable.Dir
	seen    int
	bytes   int64
	large   []string
	copies  []privateCopy
	held    []*durable.Dir // directories of copies
}

// privateCopy is one that stands ready.
type privateCopy struct {
	dir  *durable.Dir
	name string // in dir
	path string // relative to the git directory
	temp string // of the copy, in objects
	was  unix.Stat_t
}

// visit takes the directory over.
func (p *privately) visit(dir *durable.Dir, at string, depth int) error {
	entries, err := dir.ReadDir()
	if p.seen += len(entries); err == nil && (p.seen > maxStore || depth > maxDeep) {
		err = errStore
	}
	own := false
	for _, e := range entries {
		if err != nil {
			break
		}
		name := path.Join(at, e.Name())
		switch {
		case p.skip(name):
		case e.IsDir():
			var below *durable.Dir
			if below, err = dir.OpenDir(e.Name()); err == nil {
				err = p.visit(below, name, depth+1)
			}
		case e.Type().IsRegular():
			n := len(p.copies)
			err = p.file(dir, e.Name(), name)
			own = own || len(p.copies) > n
		}
		if gone(err) {
			err = nil
		}
	}
	if !own {
		return errors.Join(err, dir.Close())
	}
	p.held = append(p.held, dir)
	if err == nil && len(p.copies) >= atOnce {
		err = p.settle()
	}
	return err
}

// gone reports that a name was removed or replaced meanwhile.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// file makes a copy of a file that has other names.
func (p *privately) file(dir *durable.Dir, name, at string) error {
	c := privateCopy{dir: dir, name: name, path: at, temp: fmt.Sprintf("%s%016x", copyPrefix, rand.Uint64())}
	if err := unix.Fstatat(dir.Fd(), name, &c.was, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	me := os.Geteuid()
	switch {
	case c.was.Nlink < 2 || c.was.Mode&unix.S_IFMT != unix.S_IFREG || path.Dir(at) == "objects/pack":
		return nil
	case me != 0 && int(c.was.Uid) != me && c.was.Mode&0o022 == 0:
		return nil // the command cannot write it either
	case c.was.Size > maxPrivate:
		p.large = append(p.large, at)
		return nil
	case p.objects == nil:
		return errNoStore
	}
	if p.bytes += c.was.Size; p.bytes > maxCopied {
		return errCopies
	}
	if err := p.copy(&c); err != nil {
		_ = p.objects.Remove(c.temp)
		return fmt.Errorf("%s: %w", at, err)
	}
	p.copies = append(p.copies, c)
	return nil
}

func (p *privately) copy(c *privateCopy) error {
	from, err := c.dir.Open(c.name)
	if err != nil {
		return err
	}
	defer from.Close()
	var now unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &now); err != nil || !sameFile(&c.was, &now) {
		return errors.Join(err, errChanged)
	}
	to, err := p.objects.Create(c.temp, 0o600)
	if err != nil {
		return err
	}
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
	return unix.UtimesNanoAt(p.objects.Fd(), c.temp, []unix.Timespec{c.was.Atim, c.was.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// settle puts the copies in the places of the files.
func (p *privately) settle() error {
	if len(p.copies) == 0 {
		return nil
	}
	defer p.drop()
	if err := unix.Syncfs(p.objects.Fd()); err != nil {
		return err
	}
	for i := range p.copies {
		if err := p.replace(&p.copies[i]); err != nil && !gone(err) {
			return fmt.Errorf("%s: %w", p.copies[i].path, err)
		}
	}
	return nil
}

// replace exchanges a file with its copy, and back if it is not the file that was copied.
func (p *privately) replace(c *privateCopy) error {
	err := p.objects.Exchange(c.temp, c.dir, c.name)
	if errors.Is(err, durable.ErrUnsupported) && strings.HasPrefix(c.path, "objects/") {
		return p.objects.Replace(c.temp, c.dir, c.name) // objects never change: any file of this name is as good
	}
	if err != nil {
		return err
	}
	var out unix.Stat_t
	if err := unix.Fstatat(p.objects.Fd(), c.temp, &out, unix.AT_SYMLINK_NOFOLLOW); err != nil || !sameFile(&c.was, &out) {
		return errors.Join(errChanged, err, p.objects.Exchange(c.temp, c.dir, c.name))
	}
	return nil
}

// drop removes what stands in the place of the copies: these, or after an exchange the other names' files.
func (p *privately) drop() {
	for _, c := range p.copies {
		_ = p.objects.Remove(c.temp)
	}
	p.copies = nil
}

func sameFile(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtim == b.Mtim && a.Mode == b.Mode
}
