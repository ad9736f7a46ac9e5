package session

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxSeenFiles    = 10_000 // per session; the longest unseen are forgotten first
	maxUnownedFiles = 2_000  // per connection, before its first selection
	maxPathLength   = 4_096
)

// View is what was seen of one file.
type View struct {
	Hash   string   // of the whole file's bytes, "sha256:" and 64 hexadecimal digits
	Whole  bool     // every line was delivered at this hash, or the content was written by the session
	Ranges [][2]int // the lines delivered at this hash, first and last, 1-based, sorted; not to be changed
	Total  int      // lines of the file; 0 also where only a write is known
}

// Views is what was seen of each file. A nil *Views has seen nothing and remembers nothing. All
// methods are safe for concurrent use. Paths are workspace-relative and cleaned by the caller.
type Views struct {
	mu      sync.Mutex
	files   map[string]fileView
	limit   int
	now     func() time.Time
	last    int64
	changed func() // called without the lock; nil for views that are never saved
}

type fileView struct {
	Hash  string   `json:"hash"`
	Whole bool     `json:"whole,omitempty"`
	Total int      `json:"total,omitempty"`
	Lines [][2]int `json:"lines,omitempty"`
	At    int64    `json:"at"` // when it was last seen, in nanoseconds; distinct within one Views
}

func newViews(limit int, now func() time.Time, changed func()) *Views {
	return &Views{files: map[string]fileView{}, limit: limit, now: now, changed: changed}
}

// Seen returns what was seen of a file, and whether anything was.
func (v *Views) Seen(path string) (View, bool) {
	if v == nil {
		return View{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	f, ok := v.files[path]
	return View{Hash: f.Hash, Whole: f.wholly(), Ranges: f.Lines, Total: f.Total}, ok
}

func (f fileView) wholly() bool {
	return f.Whole || len(f.Lines) == 1 && f.Lines[0] == [2]int{1, f.Total}
}

// Saw records that lines from..to (1-based, inclusive) of a file of total lines were delivered whole,
// at the hash of the whole file. Other content than before starts anew. from > to delivers no line,
// only the hash; a file without lines is then seen whole.
func (v *Views) Saw(path, hash string, total, from, to int) {
	v.change(func() bool {
		if !validPath(path) || !validHash(hash) || total < 0 {
			return false
		}
		f := v.files[path]
		if f.Hash != hash || f.Total != total && !f.Whole {
			f = fileView{Hash: hash}
		}
		f.Total = total
		f.Whole = f.Whole || total == 0
		if from, to = max(from, 1), min(to, total); from <= to {
			f.Lines = addLines(f.Lines, from, to)
		}
		v.put(path, f)
		return true
	})
}

// Wrote records a content that the session itself put there: it counts as seen whole.
func (v *Views) Wrote(path, hash string) {
	v.change(func() bool {
		if !validPath(path) || !validHash(hash) {
			delete(v.files, path)
			return true
		}
		v.put(path, fileView{Hash: hash, Whole: true})
		return true
	})
}

// Forgot records that a file is gone.
func (v *Views) Forgot(path string) {
	v.change(func() bool {
		_, known := v.files[path]
		delete(v.files, path)
		return known
	})
}

// Moved records that a file has another path now; what was known of that path is forgotten.
func (v *Views) Moved(from, to string) {
	v.change(func() bool {
		f, known := v.files[from]
		_, replaced := v.files[to]
		delete(v.files, from)
		delete(v.files, to)
		if known && validPath(to) {
			v.put(to, f)
		}
		return known || replaced
	})
}

func (v *Views) change(apply func() bool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	changed := apply()
	v.mu.Unlock()
	if changed && v.changed != nil {
		v.changed()
	}
}

// put needs the lock.
func (v *Views) put(path string, f fileView) {
	v.last = max(v.last+1, v.now().UnixNano())
	f.At = v.last
	v.files[path] = f
	v.trim(v.limit)
}

// trim forgets the oldest tenth more than it must, so that it does not sort at each put.
func (v *Views) trim(limit int) {
	if len(v.files) <= limit {
		return
	}
	ages := make([]int64, 0, len(v.files))
	for _, f := range v.files {
		ages = append(ages, f.At)
	}
	slices.Sort(ages)
	oldest := ages[len(ages)-(limit-limit/10)]
	for path, f := range v.files {
		if f.At < oldest {
			delete(v.files, path)
		}
	}
}

// merge adds what another process saved of the same session, or a connection saw before its first
// selection. Lines of the same content add up; of two contents the later one counts.
func (v *Views) merge(others map[string]fileView) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for path, other := range others {
		v.files[path] = v.files[path].joined(other)
		v.last = max(v.last, other.At)
	}
	v.trim(v.limit)
}

func (f fileView) joined(other fileView) fileView {
	older, newer := f, other
	if newer.At < older.At {
		older, newer = newer, older
	}
	if older.Hash != newer.Hash || older.Total != newer.Total && !older.Whole && !newer.Whole {
		return newer
	}
	newer.Whole = newer.Whole || older.Whole
	newer.Total = max(newer.Total, older.Total)
	for _, r := range older.Lines {
		newer.Lines = addLines(newer.Lines, r[0], r[1])
	}
	return newer
}

// snapshot is a copy; take empties the views as well.
func (v *Views) snapshot() map[string]fileView {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.files)
}

func (v *Views) take() map[string]fileView {
	v.mu.Lock()
	defer v.mu.Unlock()
	files := v.files
	v.files = map[string]fileView{}
	return files
}

func (v *Views) len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.files)
}

func validPath(path string) bool { return path != "" && len(path) <= maxPathLength }

func validHash(hash string) bool {
	digits, ok := strings.CutPrefix(hash, "sha256:")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}
