package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// step is one visible change of one path, and its way back. A step whose apply failed has left the path as
// it was, or as a foreign writer made it.
type step interface {
	apply(ctx context.Context) error
	// confirm asks, after the flush, whether what apply displaced was still what was expected.
	confirm() error
	// revert takes back an applied step. It changes nothing if the path no longer has our file.
	revert(ctx context.Context) error
	// touched lists the directories to be flushed after apply or revert.
	touched() []*durable.Dir
	// finish looks a last time whether somebody wrote into what was displaced, and keeps it aside if so.
	finish(ctx context.Context) error
	// close releases what only the step holds.
	close() error
	// afterWriter is what the caller is told when confirm failed and the step was taken back.
	afterWriter(ctx context.Context) error
	path() string
}

// displacing is what the steps share, most of which take a file from where it is.
type displacing struct {
	w      *Workspace
	at     *Target
	want   Hash
	before *inode // nil where there is none
	temp   *temp  // where the file goes; nil for a move
}

func (d *displacing) path() string { return d.at.path }

func (d *displacing) touched() []*durable.Dir { return []*durable.Dir{d.at.parent} }

func (d *displacing) close() error { return nil }

func (d *displacing) confirm() error {
	if d.before == nil || d.before.undisturbed() {
		return nil
	}
	return errDisplaced
}

// known compares again where no lease vouches for the time since the content was hashed.
func (d *displacing) known() bool { return d.before.leased || d.before.undisturbed() }

// stale is the refusal of a file that is not what was expected.
func (d *displacing) stale() error { return d.w.stale(d.at, d.want) }

// afterWriter lets the program that waits for our lease write, so that the refusal can say what the file has then.
func (d *displacing) afterWriter(ctx context.Context) error {
	d.before.same(ctx)
	return d.stale()
}

// finish is the last look at an inode that has no path any more but the temporary one.
func (d *displacing) finish(ctx context.Context) error {
	if d.before == nil || d.before.untouched() || d.before.same(ctx) {
		return nil
	}
	return d.temp.keepAside(d.w, d.at.path)
}

// exchangeRounds bounds how often an exchange is taken back again because of a foreign writer. Each round
// needs another rename by that writer between two system calls of ours.
const exchangeRounds = 32

// errDisplaced: what came out of the path was not what was expected, and has been put back.
var errDisplaced = errors.New("somebody else changed it in the same moment")

// errNotOurs: the path no longer has the content that this change gave it.
var errNotOurs = fmt.Errorf("%w: it has been changed since", ErrStale)

// swap exchanges what is at t with the temporary file. Where names cannot be exchanged it renames over;
// expected is what must then be there, since a foreign file that is put in between cannot be got back.
func (w *Workspace) swap(t *Target, tmp *temp, expected durable.Stat) error {
	w.beforeSwap()
	if w.abilities.exchange {
		err := tmp.dir.Exchange(tmp.name, t.parent, t.name)
		if !errors.Is(err, durable.ErrUnsupported) {
			return w.crossed(err)
		}
		w.log.once("exchange", "the file system cannot exchange two names: a program that renames a file into place at the very moment of a write can lose it", err)
	}
	return w.crossed(overwrite(t, tmp, expected))
}

// overwrite leaves the same names behind as an exchange. The old inode gets a second name first.
func overwrite(t *Target, tmp *temp, expected durable.Stat) error {
	aside := besideExchange(tmp.name)
	if err := t.parent.Link(t.name, tmp.dir, aside); err != nil {
		return err
	}
	now, err := tmp.dir.Lstat(aside)
	if err == nil && !durable.Same(now, expected) {
		err = errDisplaced
	}
	if err == nil {
		err = tmp.dir.Replace(tmp.name, t.parent, t.name)
	}
	if err != nil {
		return errors.Join(err, tmp.dir.Remove(aside))
	}
	if err := tmp.dir.Replace(aside, tmp.dir, tmp.name); err != nil {
		return errors.Join(err, tmp.dir.Replace(aside, t.parent, t.name))
	}
	return nil
}

// crossed notes that the shared temporary directory does not serve although it is on the same mount (project
// quotas do that): the next attempt makes its files beside the target.
func (w *Workspace) crossed(err error) error {
	if !errors.Is(err, durable.ErrCrossDevice) {
		return err
	}
	w.beside.Store(true)
	return fmt.Errorf("%w: the temporary file cannot be moved here from .orchestration/state (%v); try again, it will be made beside the file", ErrBusy, err)
}

// is reports whether dir/name is the given file now.
func is(dir *durable.Dir, name string, file durable.Stat) bool {
	now, err := dir.Lstat(name)
	return err == nil && durable.Same(now, file)
}

// giveBack returns what was taken from t. If somebody has made a new file there meanwhile, both are kept, and
// nothing that cannot be given back is removed.
func (w *Workspace) giveBack(t *Target, tmp *temp) error {
	err := tmp.dir.Move(tmp.name, t.parent, t.name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return tmp.keepAside(w, t.path)
	}
	return errors.Join(err, tmp.keepAside(w, t.path))
}
