package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

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
