package profile

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// grain is more than the distance of two times of change that a file system notes; where it notes whole seconds, coarse is.
	grain  = 20 * time.Millisecond
	coarse = 2 * time.Second
)

// listings keeps what directories hold from one command to the next, so that one that did not change costs a look at
// its times. It keeps maxEntries names at most. It is for concurrent use.
type listings struct {
	now     func() time.Time
	mu      sync.Mutex
	kept    map[string]*listing
	entries int
}

// listing is what a directory held. It is never changed.
type listing struct {
	stamp   stamp
	entries []entry // sorted by name
	// notable are those entries that can matter where the scope has all.
	notable []entry
}

// read lists a directory, path, which is called dir in the workspace. It reports false where that cannot be known.
func (l *listings) read(path, dir string) (*listing, bool) {
	l.mu.Lock()
	old := l.kept[dir]
	l.mu.Unlock()
	if old != nil {
		if info, err := os.Lstat(path); err == nil {
			if now, ok := stampOf(info); ok && now == old.stamp {
				return old, true
			}
		}
	}
	began := l.now()
	file, err := durable.OpenDirectory(path)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !passable(info) {
		return nil, false
	}
	found, err := file.ReadDir(-1)
	if err != nil {
		return nil, false
	}
	fresh := newListing(dir, found)
	var settled bool
	if fresh.stamp, settled = stampOf(info); settled && fresh.stamp.before(began) && keepsTimes(file) {
		l.keep(dir, fresh)
	} else {
		l.keep(dir, nil)
	}
	return fresh, true
}

func newListing(dir string, found []fs.DirEntry) *listing {
	l := &listing{entries: make([]entry, 0, len(found))}
	names := make(map[string]bool, len(found))
	for _, e := range found {
		names[e.Name()] = true
	}
	repository := names["HEAD"] && (names["commondir"] || names["objects"] && names["refs"])
	for _, e := range found {
		one := entry{name: e.Name(), kind: e.Type(), closed: repository && isGuarded(e.Name())}
		one.closed = one.closed || suspicious(dir, one.name) && workspace.Protect(lastNames(dir, one.name)) != workspace.ProtectNone
		l.entries = append(l.entries, one)
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range l.entries {
		if e.closed || e.kind.IsDir() {
			l.notable = append(l.notable, e)
		}
	}
	return l
}

// keep replaces what is kept of a directory; nil keeps nothing.
func (l *listings) keep(dir string, fresh *listing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.kept[dir]; old != nil {
		l.entries -= len(old.entries) + 1
		delete(l.kept, dir)
	}
	if fresh == nil {
		return
	}
	size := len(fresh.entries) + 1
	if l.kept == nil || l.entries+size > maxEntries {
		l.kept, l.entries = map[string]*listing{}, 0
	}
	l.kept[dir] = fresh
	l.entries += size
}

// stamp tells one state of a directory from every other.
type stamp struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds since 1970
}

// before reports whether no change made from t on can leave the stamp as it is.
func (s stamp) before(t time.Time) bool {
	distance := grain
	if s.ctime%int64(time.Second) == 0 {
		distance = coarse
	}
	return s.ctime < t.Add(-distance).UnixNano()
}
