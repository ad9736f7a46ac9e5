package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxTouched bounds the paths of which a window keeps that they were touched.
const maxTouched = 10_000

// Touched is an entry out of scope of which neither content nor rights are others than before, and that was changed all
// the same: its times, its extended attributes (access control lists among them) or the number of its names; or that was
// made anew with the same content.
type Touched struct {
	Path string
	Kind Kind
	// What says for people what differs, as far as that is known.
	What string
	// Shared: another command ran at the time, and it cannot be told whose it was.
	Shared bool
}

// touch keeps what a walk found of a path that did not really change. The caller holds the lock.
func (w *Window) touch(p *pending) {
	if p.before == nil || p.after == nil || w.inScope(p.path) {
		return
	}
	if was, known := w.touched[p.path]; known {
		was.after = p.after
		return
	}
	if len(w.touched) < maxTouched {
		w.touched[p.path] = p
	}
}

// touches are those of the command, of which no change tells.
func (w *Window) touches(foreign *Foreign) []Touched {
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	var found []Touched
	for path, p := range w.touched {
		if w.deltas[path] != nil || len(w.writes[path]) > 0 || !p.before.stat.touched(&p.after.stat) {
			continue
		}
		if foreign.by(p) || slices.ContainsFunc(p.others, func(o *Window) bool { return o.inScope(path) }) {
			continue
		}
		found = append(found, Touched{path, p.after.stat.kind(), differs(&p.before.stat, &p.after.stat), len(p.others) > 0})
	}
	slices.SortFunc(found, func(a, b Touched) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

// differs says what of two stats does.
func differs(before, after *stat) string {
	if !before.sameInode(after) {
		return "it was made anew, with the content that it had"
	}
	var what []string
	if before.mtime != after.mtime {
		what = append(what, "its time of modification")
	}
	if before.links != after.links {
		what = append(what, fmt.Sprintf("the number of its names (%d before, %d now)", before.links, after.links))
	}
	if len(what) == 0 {
		return "something of it was changed that is neither content nor permissions: an extended attribute or an access control list, its times, or its name and back, or it was written and written back"
	}
	return strings.Join(what, " and ") + " was changed"
}

// maxLinked bounds the files with several names that one walk names.
const maxLinked = 50_000

// Linked is a name of a file that has several.
type Linked struct {
	Dir, Name  string // Dir is "" for the top
	Dev, Inode uint64
	// Links is how many names the file has, in the workspace and elsewhere.
	Links uint64
}

// Path is the name, workspace-relative.
func (l *Linked) Path() string { return join(l.Dir, l.Name) }

// Links are the names of files with several names, as one walk found them.
type Links struct {
	Files []Linked
	// More are directories with more of them than could be named.
	More []string
}

func (w *walk) link(dir string, e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.links
	if len(l.Files) < maxLinked {
		l.Files = append(l.Files, Linked{dir, e.name, e.stat.dev, e.stat.ino, e.stat.links})
	} else if n := len(l.More); n == 0 || l.More[n-1] != dir {
		l.More = append(l.More, dir)
	}
}

// Linked are the files with several names that the last look found, of Begin or of End; those in parts that are not looked
// at are not among them.
func (w *Window) Linked() *Links {
	w.keeper.mu.Lock() // looks of other commands add to it
	defer w.keeper.mu.Unlock()
	return w.linked
}
