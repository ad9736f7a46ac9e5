package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

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
	names, err := j.slots(false)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	alone, err := j.takeAlone()
	if err != nil {
		return nil, err
	}
	defer release(alone)
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

// takeTime bounds the waiting for another process that takes entries over, which is a matter of microseconds.
const takeTime = 250 * time.Millisecond

// lockName is the file that is locked for it. Commands in a sandbox can open, and so lock, every directory, but no file of
// the state.
const lockName = "lock"

func (j *Journal) openLock() (*os.File, error) {
	dir, err := durable.OpenRoot(j.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenLock(lockName)
}

// takeAlone holds the lock of the journal while entries are taken over. Without it, an entry that one process has locked and not
// marked yet would be taken for a living process's by the next, which would go on as if all were settled.
func (j *Journal) takeAlone() (*os.File, error) {
	file, err := j.openLock()
	if err != nil {
		return nil, unavailable(err)
	}
	for deadline := time.Now().Add(takeTime); ; time.Sleep(100 * time.Microsecond) {
		free, err := durable.TryLock(file)
		switch {
		case err == nil && free, errors.Is(err, durable.ErrUnsupported):
			return file, nil
		case err != nil:
			file.Close()
			return nil, unavailable(err)
		case time.Now().After(deadline):
			file.Close()
			return nil, ErrSettling
		}
	}
}

// slots lists those that are not this process's, or all. Errors: ErrUnavailable, ErrClosed. The caller holds the lock.
func (j *Journal) slots(all bool) ([]string, error) {
	if err := j.usable(); err != nil {
		return nil, err
	}
	if err := j.openDir(); err != nil {
		return nil, unavailable(err)
	}
	found, err := j.names()
	if err != nil {
		return nil, unavailable(err)
	}
	var names []string
	for _, name := range found {
		if strings.HasSuffix(name, slotSuffix) && (all || !j.own[name]) {
			names = append(names, name)
		}
	}
	return names, nil
}

// names lists the directory, which is read from its start again each time.
func (j *Journal) names() ([]string, error) {
	if j.listed == nil {
		dir, err := j.dir.Open(".")
		if err != nil {
			return nil, err
		}
		j.listed = dir
	} else if _, err := j.listed.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return j.listed.Readdirnames(-1)
}

// takeOver locks a slot whose process is gone, and gives its entry. A slot with nothing in flight is removed.
func (j *Journal) takeOver(name string) (*Orphan, error) {
	f, info, err := durable.OpenRegularIn(j.dir, name, os.O_RDWR)
	if errors.Is(err, durable.ErrNotRegular) {
		return nil, errors.New("it is not a regular file: move it away")
	}
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
		return nil, errors.Join(err, j.leaveTo(f, info.Size()))
	}
	o, err := j.open(name, f, info.Size())
	if o == nil {
		release(f)
	}
	return o, err
}

// leaveTo closes a slot that another process holds, and says whether it is to be waited for: that process is only settling
// it, or the one that wrote it is gone and has left its lock, for a moment, to a child that it had just made.
func (j *Journal) leaveTo(f *os.File, size int64) error {
	defer f.Close()
	care := make([]byte, 1)
	if _, err := f.ReadAt(care, int64(careAt)); err == nil && care[0] == settling {
		return ErrSettling
	}
	if state, e, err := decode(f, size); err == nil && state != nothing && durable.Left(e.PID, e.Place) {
		return ErrSettling
	}
	return nil
}

func (j *Journal) open(name string, f *os.File, size int64) (*Orphan, error) {
	if !durable.Stands(j.dir, name, f) {
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
		return unavailable(err)
	}
	if err := remove(o.j.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return nil
}

// Release gives the entry back unsettled, for the next who looks. It stays marked: for the moment between two steps it
// would be a living process's entry for others, and who finds it marked and unlocked takes it.
func (o *Orphan) Release() { release(o.file) }

// Seen is an entry as somebody sees it who does not take it.
type Seen struct {
	Entry // of a torn one, nothing
	Name  string
	Gone  bool // the process that wrote it is no more, as far as its number tells: another can have the same
	Torn  bool // not written to its end, now or by a process that was killed; its mutation has not begun
	Aside bool // torn, and set aside by an earlier settlement
}

// Slots reports whether there are slots below state, of whom and with whatever in them: one listing, which opens none.
func Slots(state *os.Root) (bool, error) {
	dir, names, err := list(state, "*"+slotSuffix)
	if dir != nil {
		dir.Close()
	}
	return len(names) > 0, err
}

// list opens the journal below state, nil if there is none, and names some of what is in it.
func list(state *os.Root, pattern string) (*os.Root, []string, error) {
	dir, err := durable.OpenOwn(state, dirName, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(dir.FS(), pattern)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, names, nil
}

// Look lists the entries below state, sorted by name, without locking or changing anything: an entry may be settled, or
// written, while it is looked at. Slots with nothing in flight are left out.
func Look(state *os.Root) ([]Seen, error) {
	dir, names, err := list(state, "*"+slotSuffix+"*")
	if dir == nil {
		return nil, err
	}
	defer dir.Close()
	slices.Sort(names)
	var found []Seen
	for _, name := range names {
		if strings.HasSuffix(name, asideSuffix) {
			found = append(found, Seen{Name: name, Aside: true})
			continue
		}
		seen, inFlight, err := lookAt(dir, name)
		for again := 0; seen.Torn && again < 3; again++ { // as one is that is being written
			time.Sleep(2 * time.Millisecond)
			seen, inFlight, err = lookAt(dir, name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && inFlight {
			found = append(found, seen)
		}
	}
	return found, nil
}

func lookAt(dir *os.Root, name string) (Seen, bool, error) {
	seen := Seen{Name: name}
	state, entry, err := peek(dir, name)
	if errors.Is(err, errTorn) {
		seen.Torn = true
		return seen, true, nil
	}
	seen.Entry = entry
	seen.Gone = entry.Place == "" && durable.Gone(entry.PID) || durable.Left(entry.PID, entry.Place)
	return seen, state != nothing, err
}

// peek reads a slot that somebody else may hold.
func peek(dir *os.Root, name string) (state byte, e Entry, err error) {
	f, info, err := durable.OpenRegularIn(dir, name, os.O_RDONLY)
	if err != nil {
		return 0, e, err
	}
	defer f.Close()
	return decode(f, info.Size())
}

// Elsewhere gives the entries of other processes, as they are at the moment, without locking or changing anything. One that
// is just being written may be left out: its mutation has not begun.
func (j *Journal) Elsewhere() ([]Entry, error) { return j.entries(false) }

// InFlight gives those of this process as well.
func (j *Journal) InFlight() ([]Entry, error) { return j.entries(true) }

func (j *Journal) entries(all bool) ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	names, err := j.slots(all)
	if err != nil {
		return nil, err
	}
	var found []Entry
	for _, name := range names {
		switch state, e, err := peek(j.dir, name); {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errTorn):
		case err != nil:
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, name, err)
		case state != nothing:
			found = append(found, e)
		}
	}
	return found, nil
}
