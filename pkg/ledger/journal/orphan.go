package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// ErrSettling: another process is settling what a dead one left. It is a matter of moments: try again.
var ErrSettling = errors.New("another process is settling what a crash left")

// Orphan is the entry of a process that is gone. It is held by nobody else until Drop or Release.
type Orphan struct {
	Entry
	// Doubt: the record may be in the ledger although the mutation was being taken back.
	Doubt bool
	// Stands: its process could not take all of the mutation back.
	Stands bool

	j    *Journal
	name string
	file *os.File
}

// Orphans takes over the entries of processes that are gone. It is cheap where there are none: one listing. With
// ErrSettling, which names no fault, the orphans that could be taken are returned too.
func (j *Journal) Orphans() ([]*Orphan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return nil, err
	}
	if err := j.openDir(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	names, err := j.foreign()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var found []*Orphan
	var busy error
	for _, name := range names {
		o, err := j.takeOver(name)
		switch {
		case errors.Is(err, ErrSettling):
			busy = err
		case err != nil:
			for _, o := range found {
				o.Release()
			}
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, name, err)
		case o != nil:
			found = append(found, o)
		}
	}
	return found, busy
}

// foreign lists the slots that are not this process's.
func (j *Journal) foreign() ([]string, error) {
	dir, err := j.dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		if strings.HasSuffix(name, slotSuffix) && !j.own[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// takeOver locks a slot whose process is gone, and gives its entry. A slot with nothing in flight is removed.
func (j *Journal) takeOver(name string) (*Orphan, error) {
	info, err := j.dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file: move it away")
	}
	f, err := j.dir.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dead, err := durable.TryLock(f)
	if errors.Is(err, durable.ErrUnsupported) {
		dead, err = true, nil
	}
	if err != nil || !dead {
		return nil, errors.Join(err, j.leaveTo(f))
	}
	o, err := j.open(name, f, info.Size())
	if o == nil {
		release(f)
	}
	return o, err
}

// leaveTo closes a slot that another process holds, and says whether that process is only settling it.
func (j *Journal) leaveTo(f *os.File) error {
	defer f.Close()
	care := make([]byte, 1)
	if _, err := f.ReadAt(care, int64(careAt)); err == nil && care[0] == settling {
		return ErrSettling
	}
	return nil
}

func (j *Journal) open(name string, f *os.File, size int64) (*Orphan, error) {
	if !j.stands(&slot{name: name, file: f}) {
		return nil, nil // settled and removed by somebody else in between
	}
	state, e, err := decode(f, size)
	switch {
	case errors.Is(err, errTorn) && size < int64(headerSize):
		return nil, j.dir.Remove(name) // its process died making it
	case errors.Is(err, errTorn):
		j.opts.Logger.Warn().Str("entry", name).Msg("an entry of the in-flight journal was torn by a crash and is set aside; its mutation had not begun")
		return nil, j.dir.Rename(name, name+asideSuffix)
	case err != nil:
		return nil, err
	case state == nothing:
		return nil, j.dir.Remove(name)
	}
	if err := mark(f, careAt, settling); err != nil {
		return nil, err
	}
	return &Orphan{Entry: e, Doubt: state == inDoubt || state == doubly, Stands: state == standing || state == doubly, j: j, name: name, file: f}, nil
}

// Drop removes the entry: it is settled.
func (o *Orphan) Drop() error {
	return o.end(func(dir *os.Root) error { return dir.Remove(o.name) })
}

// SetAside ends an entry that cannot be settled because it makes no sense, and keeps it for people to look at.
func (o *Orphan) SetAside() error {
	o.j.opts.Logger.Error().Str("entry", o.name+asideSuffix).Msg("an entry of the in-flight journal cannot be read and is set aside")
	return o.end(func(dir *os.Root) error { return dir.Rename(o.name, o.name+asideSuffix) })
}

func (o *Orphan) end(remove func(*os.Root) error) error {
	o.j.mu.Lock()
	defer o.j.mu.Unlock()
	defer release(o.file)
	if err := o.j.openDir(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := remove(o.j.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Release gives the entry back unsettled, for the next who looks.
func (o *Orphan) Release() {
	_ = mark(o.file, careAt, nothing) // who finds it marked and unlocked takes it all the same
	release(o.file)
}
