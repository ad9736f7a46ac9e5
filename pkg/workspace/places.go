package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Place is a file or a directory of the machine that keeps its protection where the workspace holds it: whoever serves a
// home directory serves what is in it. It counts for what it is, not for its name in the workspace: by whatever way a path
// leads there, and also before it exists. Of a directory all that is below belongs to it, and what links in it lead to.
type Place struct {
	Path       string // absolute
	Protection Protection
	// Commands: they have a part of it, so what changes there says nothing of them.
	Commands bool
}

// WithPlaces has these protected where a path of the workspace leads to them. One that is only ProtectProgramConfig counts
// where the workspace, when it is opened, is a directory above it.
func WithPlaces(places []Place) Option {
	return func(w *Workspace) { w.places = slices.Clone(places) }
}

// choosePlaces leaves out what cannot matter here, because each costs a look for each path.
func (w *Workspace) choosePlaces() {
	top, err := w.top.Stat()
	if err != nil {
		return // then the directory is gone, and every path will say so
	}
	w.places = slices.DeleteFunc(w.places, func(p Place) bool {
		return !filepath.IsAbs(p.Path) || p.Protection < ProtectOwn && !holds(top, p.Path)
	})
	for _, p := range w.places {
		if info, err := os.Stat(p.Path); err == nil && p.Protection == ProtectOwn && holds(durable.StatInfo(info), w.Dir()) {
			w.places = append(w.places, Place{Path: w.Dir(), Protection: ProtectOwn}) // the workspace is in one of our own directories
			return
		}
	}
}

// holds reports whether a directory is above a path.
func holds(top durable.Stat, name string) bool {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && durable.Same(top, durable.StatInfo(info)) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// spot is where a place is at this moment.
type spot struct {
	Place
	path    string // what of it exists, absolute
	at      durable.Stat
	missing []string // below that
}

// spots finds the places as they are now.
func (w *Workspace) spots() []spot {
	var found []spot
	for _, p := range w.places {
		s, ok := spotOf(p)
		if !ok {
			continue
		}
		found = append(found, s)
		if p.Protection == ProtectOwn && len(s.missing) == 0 && s.at.Mode.IsDir() {
			found = append(found, w.linkedIn(s)...)
		}
	}
	return found
}

// spotOf takes of a link that leads nowhere where it leads: what is made there stands at the place.
func spotOf(p Place) (spot, bool) {
	var missing []string
	name := p.Path
	for links := 0; links <= maxLinks; {
		at, err := durable.LstatPath(name)
		leadsOn := err == nil && !at.Mode.IsDir() && !at.Mode.IsRegular()
		if leadsOn {
			var info fs.FileInfo
			if info, err = os.Stat(name); err == nil {
				at = durable.StatInfo(info)
			}
		}
		if err == nil {
			return spot{p, name, at, missing}, true
		}
		if leadsOn {
			if text, err := os.Readlink(name); err == nil {
				links++
				if !filepath.IsAbs(text) {
					text = filepath.Join(filepath.Dir(name), text)
				}
				name = filepath.Clean(text)
				continue
			}
		}
		if name == filepath.Dir(name) {
			break
		}
		name, missing = filepath.Dir(name), append([]string{filepath.Base(name)}, missing...)
	}
	return spot{}, false
}

// linkedIn are the files elsewhere that links in one of our own directories lead to, as those of a dotfiles repository.
func (w *Workspace) linkedIn(dir spot) []spot {
	var found []spot
	for _, name := range w.links.in(dir) {
		inIt := dir.Place
		inIt.Path = filepath.Join(dir.Path, name)
		if s, ok := spotOf(inIt); ok {
			found = append(found, s)
		}
	}
	return found
}

// linkNames remembers which names of a directory are links, for as long as the directory has not changed: it is asked for
// each path of each call.
type linkNames struct {
	mu     sync.Mutex
	of     map[string]namesAt // by the directory's path
	settle time.Duration      // settleTime, but in tests
	looks  int                // how often a directory was read, for tests
}

type namesAt struct {
	dir   durable.Stat
	names []string
}

// settleTime is the age that a directory's last change must have before the same state of it proves the same names: two
// changes within one tick of the file system's clock leave the same time.
const settleTime = 2 * time.Second

func (l *linkNames) in(dir spot) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.of[dir.Path]; ok && durable.Same(known.dir, dir.at) && known.dir.Changed.Equal(dir.at.Changed) {
		return known.names
	}
	delete(l.of, dir.Path)
	l.looks++
	var names []string
	for _, e := range someOf(dir.Path) {
		if e.Type()&fs.ModeSymlink != 0 {
			names = append(names, e.Name())
		}
	}
	if changed := dir.at.Changed; !changed.IsZero() && changed.Before(time.Now().Add(-l.settle)) {
		l.of[dir.Path] = namesAt{dir.at, names}
	}
	return names
}

// is reports whether a path belongs to the place that leads through an entry with these names below it. A path that stands
// in the way of a place which is still to come belongs to it too: nothing could be made there any more.
func (s *spot) is(at durable.Stat, below []string) bool {
	if !durable.Same(s.at, at) || len(s.missing) > 0 && len(below) == 0 { // or it is the directory above
		return false
	}
	for i := range min(len(s.missing), len(below)) {
		if fold(s.missing[i]) != fold(below[i]) {
			return false
		}
	}
	return true
}

// protection is the strictest of the places that the walk's end belongs to.
func (r *resolver) protection(names []string) Protection {
	strictest := ProtectNone
	if len(r.w.places) == 0 {
		return strictest
	}
	spots := r.w.spots()
	judge := func(at durable.Stat, below []string) {
		for i := range spots {
			if spots[i].is(at, below) {
				strictest = max(strictest, spots[i].Protection)
			}
		}
	}
	if top, err := r.w.top.Stat(); err == nil {
		judge(top, names)
	}
	for i, l := range r.levels {
		if at, err := l.dir.Stat(); err == nil {
			judge(at, names[i+1:])
		}
	}
	if r.last != nil {
		judge(*r.last, nil)
		if r.last.Links > 1 && among(r.w.aliased(), *r.last) {
			strictest = max(strictest, ProtectOwn)
		}
	}
	return strictest
}

// maxOwn bounds the entries of one of our own directories that are looked at for files with several names.
const maxOwn = 1000

// aliased are our own files that have several names: one of these can be in the workspace.
func (w *Workspace) aliased() []durable.Stat {
	var found []durable.Stat
	for _, p := range w.places {
		if p.Protection == ProtectOwn {
			found = append(found, aliasedIn(p.Path, 1)...)
		}
	}
	return found
}

// aliasedIn looks so many directories deep.
func aliasedIn(dir string, depth int) (found []durable.Stat) {
	for _, e := range someOf(dir) {
		switch {
		case e.IsDir() && depth > 0:
			found = append(found, aliasedIn(filepath.Join(dir, e.Name()), depth-1)...)
		case e.Type().IsRegular():
			if info, err := e.Info(); err == nil {
				if st := durable.StatInfo(info); st.Links > 1 {
					found = append(found, st)
				}
			}
		}
	}
	return found
}

func someOf(dir string) []fs.DirEntry {
	f, err := durable.OpenDirectory(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxOwn)
	return entries
}

func among(files []durable.Stat, file durable.Stat) bool {
	return slices.ContainsFunc(files, func(f durable.Stat) bool { return durable.Same(f, file) })
}

// concealed says which entries are not to be shown: those of our own, that nobody reads. It is nil where there are none.
func (w *Workspace) concealed() func(durable.Stat) bool {
	if len(w.places) == 0 {
		return nil
	}
	spots, aliased := w.spots(), w.aliased()
	return func(entry durable.Stat) bool {
		return among(aliased, entry) || slices.ContainsFunc(spots, func(s spot) bool { return s.Protection == ProtectOwn && s.is(entry, nil) })
	}
}

// Inside are the places as paths of the workspace, for who judges by names what has changed: as they are spelled and as
// they resolve.
func (w *Workspace) Inside() []Place {
	var inside []Place
	add := func(p Place, name string) {
		way, err := filepath.Rel(w.Dir(), name)
		if err != nil || !filepath.IsLocal(way) || way == "." || p.Commands {
			return
		}
		p.Path = filepath.ToSlash(way)
		if !slices.Contains(inside, p) {
			inside = append(inside, p)
		}
	}
	for _, p := range w.places {
		add(p, p.Path)
	}
	for _, s := range w.spots() {
		if real, err := filepath.EvalSymlinks(s.path); err == nil {
			add(s.Place, filepath.Join(append([]string{real}, s.missing...)...))
		}
	}
	return inside
}

// ProtectIn is Protect with places that are paths of the workspace, as Inside gives them.
func ProtectIn(inside []Place, name string) Protection {
	strictest := Protect(name)
	for _, p := range inside {
		if name == p.Path || strings.HasPrefix(name, p.Path+"/") {
			strictest = max(strictest, p.Protection)
		}
	}
	return strictest
}
