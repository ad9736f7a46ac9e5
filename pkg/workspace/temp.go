package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	tempPrefix = ".orchestra-"
	tempSuffix = ".tmp"
	keptSuffix = ".kept"
)

// IsTemp reports whether a file name is that of a temporary file of this package: hidden from listings and
// snapshots, and gone when its change is closed.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// TempOwner is the token in the name of a temporary file that says which process made it: while that lives, or has left
// something to settle, .orchestration/state/tmp has a file TOKEN.owner. It is "" for names without one.
func TempOwner(name string) string {
	token, _, found := strings.Cut(strings.TrimPrefix(name, tempPrefix), "-")
	if !IsTemp(name) || !found || len(token) != tokenLength {
		return ""
	}
	return token
}

// temp is a name for the new content before an exchange, and for the displaced inode after it.
type temp struct {
	dir    *durable.Dir
	owned  bool   // dir is closed with the temp
	name   string // in dir
	path   string // workspace-relative
	ours   *inode // the new content, nil before it is written and for names that only take a file away
	writer *os.File
	mode   fs.FileMode // of the new content
	missed []string    // metadata that could not be kept
	locks  *lockFiles  // for the lock of ours
	keep   bool        // the name is somebody's before-image: giving up must not remove it
}

// newTemp chooses a name in .orchestration/state/tmp, or beside the target if that is another file system,
// is not there, or if new files inherit rights from the target's directory.
func (p *Prepared) newTemp(t *Target, creating bool) *temp {
	w := p.w
	if !creating || !t.parent.Inherits() {
		if dir, ok := p.sharedTempDir(t.parent); ok {
			name := w.tempName("")
			return &temp{dir: dir, name: name, path: sharedTemp(name), locks: &p.locks}
		}
	}
	above := components(t.path)
	above = above[:len(above)-1-len(t.rest)]
	name := w.tempName(strings.Join(append([]string{"."}, above...), "/"))
	return &temp{dir: t.parent, name: name, path: strings.Join(append(above, name), "/"), locks: &p.locks}
}

// sharedTemp is the path of a name in the shared directory.
func sharedTemp(name string) string { return path.Join(governanceDir, stateDir, tempDir, name) }

func (p *Prepared) sharedTempDir(beside *durable.Dir) (*durable.Dir, bool) {
	if p.w.beside.Load() {
		return nil, false
	}
	if p.temps == nil {
		dir, err := p.w.openState(tempDir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				p.w.log.once("state", "temporary files are made beside their targets: .orchestration/state/tmp cannot be used", err)
			}
			return nil, false
		}
		p.temps = dir
	}
	return p.temps, p.temps.SameMount(beside)
}

// write makes the file with content, taking mode, owner and attributes from like, if given, and the mode from mode, if given.
func (t *temp) write(content []byte, like *inode, mode *fs.FileMode) error {
	perm := fs.FileMode(0o644)
	if like != nil || mode != nil {
		perm = 0o600 // until it has the rights of the original, nobody else may read it
	}
	f, err := t.dir.Create(t.name, perm)
	if err != nil {
		return err
	}
	t.writer = f
	if _, err := f.Write(content); err != nil {
		return err
	}
	if like != nil {
		t.missed, err = durable.CopyMetadata(like.file, f)
	}
	if err == nil && mode != nil {
		err = f.Chmod(mode.Perm())
	}
	if err != nil {
		return err
	}
	made, err := durable.StatFile(f)
	t.mode = made.Mode
	return err
}

// overlayMarks begin the names of what a layer notes of its files for itself (overlayfs, userxattr).
const overlayMarks = "user.overlay."

// link gives a file that lies ready the name, without what a layer noted of it.
func (t *temp) link(r *Ready) error {
	f, err := openRegular(r.Dir, r.Name)
	if err != nil {
		return err
	}
	t.writer = f // to be flushed
	lies, err := durable.StatFile(f)
	if err == nil {
		err = durable.DropAttributes(f, overlayMarks)
	}
	if err == nil {
		err = r.Dir.Link(r.Name, t.dir, t.name)
	}
	if err != nil {
		return err
	}
	if !is(t.dir, t.name, lies) {
		return fmt.Errorf("%w: %s was replaced", ErrBusy, r.Name)
	}
	t.mode = lies.Mode
	return nil
}

// flush brings the content to disk and reopens it for reading only, locked and leased, before anybody can
// find it at its path.
func (t *temp) flush(ctx context.Context, w *Workspace, hash Hash) error {
	if w.durability == Full {
		if err := t.writer.Sync(); err != nil {
			return err
		}
	}
	st, err := durable.StatFile(t.writer)
	if err != nil {
		return err
	}
	f, err := t.dir.Open(t.name)
	if err != nil {
		return err
	}
	t.ours = &inode{w: w, file: f, stat: st, hash: hash}
	if now, err := durable.StatFile(f); err != nil || !durable.Same(st, now) {
		return fmt.Errorf("%w: the temporary file %s was replaced", ErrBusy, t.path)
	}
	if t.ours.lock, err = t.locks.tryLock(f, st); err != nil {
		return err
	}
	err = t.writer.Close()
	t.writer = nil
	if err != nil {
		return err
	}
	return t.ours.lease(ctx)
}

// discard removes whatever has the name now and gives everything back.
func (t *temp) discard() error {
	if t.keep {
		return t.close()
	}
	err := t.dir.Remove(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, t.close())
}

func (t *temp) close() error {
	var err error
	if t.writer != nil {
		err = t.writer.Close()
		t.writer = nil
	}
	t.ours.release()
	if t.owned {
		err = errors.Join(err, t.dir.Close())
		t.owned = false
	}
	return err
}

// keepAside gives what has the temporary name a lasting one: it is somebody else's content.
func (t *temp) keepAside(w *Workspace, target string) *KeptError {
	kept := strings.TrimSuffix(t.name, tempSuffix) + keptSuffix
	if err := t.dir.Move(t.name, t.dir, kept); err != nil {
		kept = t.name // it stays where it is, and is not removed
	}
	e := &KeptError{Path: target, Kept: strings.TrimSuffix(t.path, t.name) + kept}
	t.name = kept + ".gone" // nothing has this name: a later discard removes nothing
	w.log.log.Warn().Str("path", target).Str("kept", e.Kept).Msg("another program's content was kept aside")
	return e
}
