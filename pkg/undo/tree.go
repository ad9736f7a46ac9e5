package undo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// tree is the files as they become, one undone change after the other, over those on disk.
type tree struct {
	*disk
	lookup *lookup
	// moved says where git moved files to that are not at their paths.
	moved map[string]gitMove
	left  *left
	// files are by the paths that they have in the tree.
	files     map[string]*file
	conflicts []Conflict
}

// left is what a plan leaves as it is: the parts of the chosen records that have to do with a file which has a conflict.
type left struct {
	parts map[part]bool
	// stays is, by the path from which a record had moved a file, where that file is and stays.
	stays map[string]string
}

// part is what one record did at one path.
type part struct{ record, path string }

// file is one file of the tree. What is undone of it waits as a step from one version to another, so that changes that
// follow each other become one.
type file struct {
	origin  string // where it is on disk, "" if nowhere
	now     change.Version
	step    *step
	records []string
	parts   []part
	notes   []string
	merged  bool
	linked  bool // it had other names before one of the changes
	// conflict is why it stays as it is; nothing more is said about it then.
	conflict *Conflict
}

// step is what is being undone: the version that the newest change left, and the one that the oldest began from.
type step struct {
	from, to change.Version
	newest   recorded
	path     string
}

func newTree(d *disk, l *lookup, moved map[string]gitMove, without *left) *tree {
	return &tree{disk: d, lookup: l, moved: moved, left: without, files: map[string]*file{}}
}

// undo takes one file of a change back.
func (t *tree) undo(c recorded, f fileChange) error {
	if t.left.parts[part{c.ID, f.Path}] {
		return nil
	}
	path, note, err := t.locate(c, f)
	if err != nil {
		return err
	}
	at, unfit := t.at(path)
	at.parts = append(at.parts, part{c.ID, f.Path})
	at.note(note)
	at.linked = at.linked || c.names(detailHardLinks, cmp.Or(f.From, f.Path))
	why, stays := c.irreversible(f), t.left.stays[path]
	switch {
	case at.conflict != nil:
	case why != "":
		t.refuse(at, c, path, why)
	case unfit != nil:
		t.refuse(at, c, path, unfit.Error())
	case stays != "" && t.vacant(path):
		t.refuse(at, c, path, fmt.Sprintf("the file is %s, where a record moved it that cannot be taken back", stays))
	default:
		err = t.undoContent(at, c, f, path)
		if err == nil && at.conflict == nil && f.Op == change.Moved && path != f.From {
			err = t.moveBack(at, c, f, path)
		}
	}
	if at.conflict != nil && f.Op == change.Moved {
		t.left.stays[f.From] = path
	}
	return err
}

// note adds something that people should know, once.
func (f *file) note(text string) {
	if text != "" && !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// locate gives the path of a file in the tree, and how git moved it there.
func (t *tree) locate(c recorded, f fileChange) (path, note string, err error) {
	if f.Op == change.Deleted {
		return f.Path, "", nil
	}
	path, deleted, err := t.lookup.follow(c, f.Path, f.line)
	for range maxHops {
		move, is := t.moved[path]
		if err != nil || deleted || !is || !t.vacant(path) {
			break
		}
		note = move.note(path)
		path, deleted, err = t.lookup.follow(c, move.to, "")
	}
	return path, note, err
}

// vacant reports that nothing stands at a path in the tree, nor is to come back there.
func (t *tree) vacant(path string) bool {
	f := t.files[path]
	if f == nil {
		return t.missing(path)
	}
	return f.now.Hash == "" && f.step == nil
}

// undoContent adds a change to what is being undone of a file.
func (t *tree) undoContent(at *file, c recorded, f fileChange, path string) error {
	from, to := f.After, f.Before
	if f.Op == change.Created {
		to = change.Version{}
	}
	at.records = append(at.records, c.ID)
	if at.step != nil && at.step.to.Hash == from.Hash {
		at.step.to = to
		return nil
	}
	if err := t.settle(at); err != nil || at.conflict != nil {
		return err
	}
	if from.Hash != to.Hash || from.Mode != to.Mode {
		at.step = &step{from: from, to: to, newest: c, path: path}
	}
	return nil
}

// moveBack gives a file its old path, where the move that is undone was its last.
func (t *tree) moveBack(at *file, c recorded, f fileChange, path string) error {
	if path != f.Path {
		return t.conflict(at, c, path, fmt.Sprintf("it was moved on from %s to %s, so moving it back to %s would take back more than this record", f.Path, path, f.From))
	}
	there, unfit := t.at(f.From)
	if unfit == nil {
		if err := t.settle(there); err != nil {
			return err
		}
	}
	switch {
	case unfit != nil:
		t.refuse(at, c, f.From, unfit.Error())
		return nil
	case there.conflict != nil:
		t.refuse(at, c, f.From, "what stands where it was moved from cannot be taken back")
		return nil
	case there.now.Hash != "":
		return t.conflict(at, c, f.From, "another file stands where it was moved from")
	}
	at.records, at.parts = append(there.records, at.records...), append(there.parts, at.parts...)
	t.files[f.From], t.files[path] = at, &file{}
	return nil
}

// at gives the file that has a path in the tree. An error says why the path cannot be used.
func (t *tree) at(path string) (*file, error) {
	was := t.disk.at(path)
	f := t.files[path]
	if f == nil {
		f = &file{now: was.Version}
		if was.Hash != "" {
			f.origin = path
		}
		t.files[path] = f
	}
	return f, was.unfit
}

// stands reports whether all files of a change are as it left them although it is undone and no record says that they
// are so again: somebody put them back, with git perhaps.
func (t *tree) stands(c recorded) bool {
	for _, f := range c.files {
		path, _, err := t.locate(c, f)
		if err != nil || f.Op == change.Moved && path != f.Path {
			return false
		}
		at, err := t.at(path)
		if err != nil || at.now.Hash != f.After.Hash || t.recorded(path) == f.After.Hash {
			return false
		}
	}
	return true
}

// recorded is the hash that the last record on a path left there.
func (t *tree) recorded(path string) string {
	entries, err := t.lookup.history(path)
	if err != nil {
		return ""
	}
	for _, e := range slices.Backward(entries) {
		for _, c := range e.Changes {
			if c.Path == path {
				return c.After.Hash
			}
		}
	}
	return ""
}

// settleAll carries out what still waits, and adds what must be left as it is.
func (t *tree) settleAll() error {
	for _, path := range t.paths() {
		if err := t.settle(t.files[path]); err != nil {
			return err
		}
	}
	for _, f := range t.files {
		if f.conflict == nil {
			continue
		}
		for _, p := range f.parts {
			t.left.parts[p] = true
			f.conflict.records = append(f.conflict.records, p.record)
		}
		t.conflicts = append(t.conflicts, *f.conflict)
	}
	slices.SortFunc(t.conflicts, func(a, b Conflict) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// result compares the tree with the disk.
func (t *tree) result() []File {
	var files []File
	gone := map[string]bool{}
	for _, path := range t.paths() {
		f := t.files[path]
		// A move goes where nothing is, from where nothing will be. Else it is the content that changes, of both paths.
		if f.origin != "" && f.origin != path && f.now.Hash != "" && t.disk.at(path).Hash == "" && t.files[f.origin].now.Hash == "" {
			files = append(files, t.change(f, change.Moved, path, f.origin))
			gone[path], gone[f.origin] = true, true
		}
	}
	for _, path := range t.paths() {
		f, was := t.files[path], t.disk.at(path)
		switch {
		case gone[path] || f.now.Hash == was.Hash && f.now.Mode == was.Mode:
		case was.Hash == "":
			files = append(files, t.change(f, change.Created, path, ""))
		case f.now.Hash == "":
			files = append(files, t.change(f, change.Deleted, path, path))
		default:
			files = append(files, t.change(f, change.Modified, path, path))
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

func (t *tree) paths() []string { return slices.Sorted(maps.Keys(t.files)) }

func (t *tree) change(f *file, op change.Op, path, was string) File {
	out := File{
		Change: change.Change{Op: op, Path: path, After: change.Version{Hash: f.now.Hash, Mode: f.now.Mode}},
		Merged: f.merged, Records: f.records,
	}
	out.After.Bytes = t.known[f.now.Hash]
	if f.linked && out.After.Hash != "" && (was == "" || t.disk.at(was).links == 1) {
		f.note("it was a file with several names (hard links), and becomes one of its own")
	}
	if was != "" {
		before := t.disk.at(was)
		out.Before.Hash, out.Before.Mode = before.Hash, before.Mode
		out.Before.Bytes = t.known[out.Before.Hash]
		if before.links > 1 && (op != change.Moved || out.rewritten()) {
			f.note(fmt.Sprintf("the file has %d names (hard links): the others keep what it has now", before.links))
		}
	}
	if op == change.Moved {
		out.From = was
	}
	if op == change.Deleted {
		out.After.Bytes = nil
	}
	out.Notes = f.notes
	return out
}
