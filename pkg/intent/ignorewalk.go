package intent

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// IgnoreWalk is Ignore for who goes through a workspace, a directory after what is in it: a path costs a comparison for each
// rule that can still match in its directory. It is for one goroutine.
type IgnoreWalk struct {
	top    ignoreLevel
	levels []ignoreLevel // the directories on the way to the last path
	dir    string        // the last of them, "" before the first path
}

// ignoreLevel is a directory with what the rules of each file say there.
type ignoreLevel struct {
	name           string
	paths, secrets []gitignore.At
}

// Walk begins.
func (g *Ignore) Walk() *IgnoreWalk {
	w := &IgnoreWalk{}
	if g != nil {
		for i := range g.files {
			w.top.paths = append(w.top.paths, g.files[i].paths.At("."))
			w.top.secrets = append(w.top.secrets, g.files[i].secrets.At("."))
		}
	}
	return w
}

// Blocked reports whether Ignore.PathBlocked finds a rule.
func (w *IgnoreWalk) Blocked(path string) bool {
	return w.match(path, func(l ignoreLevel) []gitignore.At { return l.paths }) || w.Secret(path)
}

// Secret reports whether Ignore.Secret finds one.
func (w *IgnoreWalk) Secret(path string) bool {
	return w.match(path, func(l ignoreLevel) []gitignore.At { return l.secrets })
}

// Below reports whether Blocked can be true of something below a directory, however deep.
func (w *IgnoreWalk) Below(dir string) bool {
	if !fs.ValidPath(dir) {
		return true
	}
	at := w.enter(dir)
	busy := func(a gitignore.At) bool { return !a.Idle() }
	return slices.ContainsFunc(at.paths, busy) || slices.ContainsFunc(at.secrets, busy)
}

// Names gives the names in a directory of which Blocked can be true, and perhaps others; with open it can be of any.
func (w *IgnoreWalk) Names(dir string) (names []string, open bool) {
	if !fs.ValidPath(dir) {
		return nil, true
	}
	level := w.enter(dir)
	for _, lists := range [][]gitignore.At{level.paths, level.secrets} {
		for _, at := range lists {
			some, any := at.Names()
			names, open = append(names, some...), open || any
		}
	}
	return names, open
}

func (w *IgnoreWalk) match(path string, lists func(ignoreLevel) []gitignore.At) bool {
	clean, isDir := strings.CutSuffix(path, "/")
	if !fs.ValidPath(clean) {
		return true
	}
	if clean == "." {
		return false
	}
	dir, name := ".", clean
	if i := strings.LastIndexByte(clean, '/'); i >= 0 {
		dir, name = clean[:i], clean[i+1:]
	}
	for _, at := range lists(w.enter(dir)) {
		if at.Match(name, isDir) {
			return true
		}
	}
	return false
}

// enter goes to a directory, from the last one that is above both.
func (w *IgnoreWalk) enter(dir string) ignoreLevel {
	if dir == w.dir && len(w.levels) > 0 {
		return w.levels[len(w.levels)-1]
	}
	w.dir = dir
	var names []string
	if dir != "." {
		names = strings.Split(dir, "/")
	}
	same := 0
	for same < min(len(names), len(w.levels)) && w.levels[same].name == names[same] {
		same++
	}
	w.levels = w.levels[:same]
	at := w.top
	if same > 0 {
		at = w.levels[same-1]
	}
	for _, name := range names[same:] {
		at = ignoreLevel{name, within(at.paths, name), within(at.secrets, name)}
		w.levels = append(w.levels, at)
	}
	return at
}

// within leaves out what has nothing to say in a directory.
func within(lists []gitignore.At, name string) (inside []gitignore.At) {
	for _, at := range lists {
		if at = at.Within(name); !at.Idle() {
			inside = append(inside, at)
		}
	}
	return inside
}
