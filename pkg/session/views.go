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

// maxRanges bounds the line ranges kept of one file. What does not fit is not counted as seen.
const maxRanges = 64

// View is what was seen of one file, as it is kept too.
type View struct {
	Hash  string   `json:"hash"`            // of the whole file's bytes, "sha256:" and 64 hexadecimal digits
	Whole bool     `json:"whole,omitempty"` // every line was delivered at this hash, or the content was written by the session
	Total int      `json:"total,omitempty"` // lines of the file; 0 also where only a write is known
	Lines [][2]int `json:"lines,omitempty"` // delivered at this hash, first and last, 1-based, sorted, disjoint; not to be changed
	At    int64    `json:"at"`              // when it was last seen, in nanoseconds; distinct within one Views
}

// Views is what was seen of each file. A nil *Views has seen nothing and remembers nothing. All
// methods are safe for concurrent use. Paths are workspace-relative and cleaned by the caller.
type Views struct {
	mu      sync.Mutex
	files   map[string]View
	limit   int
	now     func() time.Time
	last    int64
	changed func() // called without the lock; nil for views that are never saved
}

func newViews(limit int, now func() time.Time, changed func()) *Views {
	return &Views{files: map[string]View{}, limit: limit, now: now, changed: changed}
}

// Seen returns what was seen of a file, and whether anything was.
func (v *Views) Seen(path string) (View, bool) {
	if v == nil {
		return View{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	f, ok := v.files[path]
	f.Whole = f.Whole || len(f.Lines) == 1 && f.Lines[0] == [2]int{1, f.Total}
	return f, ok
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
			f = View{Hash: hash}
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
		delete(v.files, path)
		if validPath(path) && validHash(hash) {
			v.put(path, View{Hash: hash, Whole: true})
		}
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
func (v *Views) put(path string, f View) {
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
func (v *Views) merge(others map[string]View) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for path, other := range others {
		v.files[path] = v.files[path].joined(other)
		v.last = max(v.last, other.At)
	}
	v.trim(v.limit)
}

func (f View) joined(other View) View {
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
func (v *Views) snapshot() map[string]View {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.files)
}

func (v *Views) take() map[string]View {
	v.mu.Lock()
	defer v.mu.Unlock()
	files := v.files
	v.files = map[string]View{}
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

// addLines returns the sorted, disjoint, non-adjacent ranges that cover lines and from..to. The given
// slice is left alone: views that were handed out keep theirs.
func addLines(lines [][2]int, from, to int) [][2]int {
	first := 0
	for first < len(lines) && lines[first][1] < from-1 {
		first++
	}
	last := first
	for last < len(lines) && lines[last][0] <= to+1 {
		from, to = min(from, lines[last][0]), max(to, lines[last][1])
		last++
	}
	if last == first && len(lines) >= maxRanges {
		return lines
	}
	return slices.Concat(lines[:first], [][2]int{{from, to}}, lines[last:])
}
