package orchdir

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// stateName is the directory for temporary files, below the .orchestration directory.
const stateName = "state"

// LockName is the file in the state that whoever changes the shared files of .orchestration locks, the ledger included
// (lockFile there). Commands in a sandbox can open, and so lock, the directory itself, but no file of the state.
const LockName = "lock"

// Patience of Rewrite.
const (
	wait       = 5 * time.Second
	optimistic = 3 // attempts that take the lock only for the exchange; later ones hold it throughout
)

// File is a file to rewrite.
type File struct {
	Root  *os.Root // the workspace
	Name  string   // in its .orchestration directory
	Limit int64    // size that it may have, in bytes
}

// Rewrite replaces the file by what change makes of its content; nil stands for a file that does not exist, and as a
// result for no rewrite. If another program changes the file in between, change is called again with the new content, and
// where it fails or has nothing to write, once more under the lock. A missing directory is fs.ErrNotExist; an error of change is returned as it is.
func Rewrite(ctx context.Context, f File, change func(old []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	held := false
	for n := 0; ; n++ {
		held = held || n >= optimistic
		err := attempt(ctx, f, held, change)
		if errors.Is(err, errUnsure) {
			held = true
			continue
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		if err := sleep(ctx, time.Duration(n)*time.Millisecond); err != nil {
			return err
		}
	}
}

// errUnsure: there is nothing to write, going by what was read without the lock. That can be what another writer put there for
// the moment that it takes to find out that somebody was faster.
var errUnsure = errors.New("the file was read without the lock")

// rewriter is one attempt: the open directories and what was read.
type rewriter struct {
	File
	top, dir, temp *durable.Dir // the workspace, its .orchestration, and where the temporary file is
	state          *durable.Dir
	lock           *os.File
	old            []byte
	mine           string // name of the temporary file in temp
	held           []*os.File
}

func attempt(ctx context.Context, f File, held bool, change func([]byte) ([]byte, error)) (err error) {
	r := &rewriter{File: f}
	defer r.close()
	if err := r.open(); err != nil {
		return err
	}
	if held {
		if err := r.take(ctx); err != nil {
			return err
		}
		defer r.release()
	}
	if r.old, _, err = read(r.dir, f.Name, f.Limit); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && r.old == nil {
		r.old = []byte{}
	}
	data, err := change(r.old)
	if err != nil || data == nil || (r.old != nil && bytes.Equal(data, r.old)) {
		if !held {
			return errUnsure
		}
		return err
	}
	if err := r.prepare(data); err != nil {
		return fmt.Errorf("write %s: %w", f.Name, err)
	}
	if !held {
		if err := r.take(ctx); err != nil {
			return errors.Join(err, r.discard())
		}
		err = r.swap()
		r.release()
	} else {
		err = r.swap()
	}
	if err != nil {
		return err
	}
	return r.dir.Sync()
}

// open opens the directories; none of them may be a link.
func (r *rewriter) open() (err error) {
	if r.top, err = durable.OpenRoot(r.Root); err != nil {
		return err
	}
	if r.dir, err = openDir(r.top); err != nil {
		return err
	}
	if err := r.dir.Mkdir(stateName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if r.state, err = r.dir.OpenDir(stateName); err != nil {
		return err
	}
	r.lock, err = r.state.OpenLock(LockName)
	return err
}

func (r *rewriter) close() {
	// Nothing was written through these descriptors; closing them cannot lose anything.
	for _, d := range []*durable.Dir{r.top, r.dir, r.state} {
		if d != nil {
			_ = d.Close()
		}
	}
	for _, file := range append(r.held, r.lock) {
		if file != nil {
			_ = file.Close()
		}
	}
}

// take takes the lock and makes sure that it is the one of the directory, and the file in it, that stand there now.
func (r *rewriter) take(ctx context.Context) error {
	if err := lock(ctx, r.lock); err != nil {
		return err
	}
	named, err := r.top.Lstat(Name)
	if err != nil {
		return err
	}
	open, err := r.dir.Stat()
	if err != nil {
		return err
	}
	if !durable.Same(named, open) || !r.stands() {
		r.release()
		return errChanged
	}
	return nil
}

// stands reports whether the lock is that of the file which others find.
func (r *rewriter) stands() bool {
	held, noLock := durable.StatFile(r.lock)
	named, noName := r.state.Lstat(LockName)
	state, noState := r.dir.Lstat(stateName)
	open, notOpen := r.state.Stat()
	return errors.Join(noLock, noName, noState, notOpen) == nil && durable.Same(state, open) && durable.Same(held, named)
}

func (r *rewriter) release() { _ = durable.Unlock(r.lock) }

// prepare writes the new content, flushed, to a temporary file in state/, or beside the file if state/ is on another file system.
func (r *rewriter) prepare(data []byte) error {
	if r.temp = r.state; !r.temp.SameMount(r.dir) {
		r.temp = r.dir
	}
	r.mine = ".orchestra-" + rand.Text() + ".tmp"
	file, err := r.temp.Create(r.mine, 0o644)
	if err != nil {
		return err
	}
	err = r.fill(file, data)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, r.discard())
	}
	return nil
}

// fill writes the content and takes over mode, owner and attributes of the file that it is to replace.
func (r *rewriter) fill(file *os.File, data []byte) error {
	if old, err := r.dir.Open(r.Name); err == nil {
		// What cannot be kept is what this process may not set; it never widens access.
		_, err = durable.CopyMetadata(old, file)
		if err = errors.Join(err, old.Close()); err != nil {
			return err
		}
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

func (r *rewriter) discard() error { return r.temp.Remove(r.mine) }
