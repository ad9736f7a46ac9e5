package journal

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Seen is an entry as somebody sees it who does not take it.
type Seen struct {
	Name  string
	PID   int  // of the process that wrote it; it may be gone
	Torn  bool // not written to its end, now or by a process that was killed; its mutation has not begun
	Aside bool // torn, and set aside by an earlier settlement
}

// Look lists the entries below state, sorted by name, without locking or changing anything: an entry may be settled, or
// written, while it is looked at. Slots with nothing in flight are left out.
func Look(state *os.Root) ([]Seen, error) {
	dir, err := durable.OpenOwn(state, dirName, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := fs.Glob(dir.FS(), "*"+slotSuffix+"*")
	if err != nil {
		return nil, err
	}
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
	info, err := dir.Lstat(name)
	if err != nil {
		return seen, false, err
	}
	if !info.Mode().IsRegular() {
		return seen, false, errors.New(dirName + "/" + name + " is not a regular file")
	}
	f, err := dir.Open(name)
	if err != nil {
		return seen, false, err
	}
	defer f.Close()
	state, entry, err := decode(f, info.Size())
	if errors.Is(err, errTorn) {
		seen.Torn = true
		return seen, true, nil
	}
	seen.PID = entry.PID
	return seen, state != nothing, err
}
