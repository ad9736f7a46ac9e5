package orchdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// swap moves the temporary file into place if the file there is still the one that was read. Otherwise it returns
// errChanged, and everything is as it was.
func (r *rewriter) swap() error {
	if r.old == nil {
		return r.create()
	}
	ours, err := r.hold()
	if err != nil {
		return errors.Join(err, r.discard())
	}
	err = r.temp.Exchange(r.mine, r.dir, r.Name)
	switch {
	case errors.Is(err, durable.ErrUnsupported):
		return r.checkAndReplace()
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(errChanged, r.discard())
	case err != nil:
		return errors.Join(err, r.discard())
	}
	if r.displacedOld() {
		return r.discard()
	}
	return r.putBack(ours)
}

// create is for a file that did not exist.
func (r *rewriter) create() error {
	err := r.temp.Move(r.mine, r.dir, r.Name)
	if errors.Is(err, fs.ErrExist) {
		return errors.Join(errChanged, r.discard())
	}
	if err != nil {
		return errors.Join(err, r.discard())
	}
	return nil
}

// checkAndReplace is the way where two files cannot be exchanged.
func (r *rewriter) checkAndReplace() error {
	now, _, err := read(r.dir, r.Name, r.Limit)
	if err != nil || !bytes.Equal(now, r.old) {
		return errors.Join(errChanged, r.discard())
	}
	if err := r.temp.Replace(r.mine, r.dir, r.Name); err != nil {
		return errors.Join(err, r.discard())
	}
	return nil
}

// displacedOld reports whether what the exchange displaced is what was read, and nobody is writing to it: an editor
// that has it open would go on writing into a file that is about to lose its name.
func (r *rewriter) displacedOld() bool {
	file, err := r.temp.Open(r.mine)
	if err != nil {
		return false
	}
	defer file.Close()
	err = durable.TakeLease(file)
	leased := err == nil
	if leased {
		defer durable.DropLease(file)
	}
	if errors.Is(err, durable.ErrWriterOpen) {
		return false
	}
	now, _, err := readOpen(file, r.Limit)
	if err != nil || !bytes.Equal(now, r.old) {
		return false
	}
	return !leased || durable.TakeLease(file) == nil
}

// putBack undoes the exchange. If that in turn displaces a file that is not the one we put there, somebody saved between
// the two exchanges, and the newer file goes back into place: the one that we had displaced would have been overwritten
// by it without us, too.
func (r *rewriter) putBack(expected durable.Stat) error {
	for range swapAttempts {
		placed, err := r.hold()
		if err != nil {
			return r.kept(err)
		}
		if err := r.temp.Exchange(r.mine, r.dir, r.Name); err != nil {
			return r.kept(err)
		}
		out, err := r.temp.Lstat(r.mine)
		if err != nil {
			return r.kept(err)
		}
		if durable.Same(expected, out) {
			return errors.Join(errChanged, r.discard())
		}
		expected = placed
	}
	return r.kept(errChanged)
}

// swapAttempts bounds how often an editor that saves faster than two exchanges is followed.
const swapAttempts = 32

// hold identifies the file under the temporary name and keeps it open for the rest of the attempt, so that the number
// of its inode cannot come back as that of another file.
func (r *rewriter) hold() (durable.Stat, error) {
	file, err := r.temp.Open(r.mine)
	if err != nil { // a link, put there by somebody else
		return r.temp.Lstat(r.mine)
	}
	r.held = append(r.held, file)
	return durable.StatFile(file)
}

// kept is the error for a foreign file that was displaced and cannot go back: it stays under the temporary name.
func (r *rewriter) kept(cause error) error {
	return fmt.Errorf("%w: it is kept as %s below %s: %v", ErrKept, r.mine, Name, cause)
}
