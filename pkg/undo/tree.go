package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// tree is the files as they become, one undone change after the other, over those on disk, which are read when they are
// first needed.
type tree struct {
	Source
	ctx    context.Context
	lookup *lookup
	// files are by the paths that they have in the tree, disk by those that they have on disk.
	files, disk map[string]*file
	contents    *contents
	conflicts   []Conflict
}

// version names a content; no hash is no file.
type version struct{ hash, oid string }

// file is one file of the tree. What is undone of it waits as a step from one version to another, so that changes that
// follow each other become one.
type file struct {
	origin  string // where it is on disk, "" if nowhere
	now     version
	step    *step
	records []string
	merged  bool
	failed  bool  // it has a conflict: nothing more is said about it
	unfit   error // why the path cannot be used
}

// step is what is being undone: the content that the newest change left, and the one that the oldest began from.
type step struct {
	from, to version
	newest   change
	path     string
}

func newTree(ctx context.Context, s Source, l *lookup) *tree {
	return &tree{
		Source: s, ctx: ctx, lookup: l, files: map[string]*file{}, disk: map[string]*file{}, contents: newContents(ctx, s),
	}
}

// undo takes one file of a change back.
func (t *tree) undo(c change, f fileChange) error {
	path, err := t.locate(c, f)
	if err != nil {
		return err
	}
	at, err := t.at(path)
	if err != nil {
		t.refuse(at, c, path, err.Error())
		return nil
	}
	if at.failed {
		return nil
	}
	if why := c.irreversible(f); why != "" {
		t.refuse(at, c, path, why)
		return nil
	}
	if err := t.undoContent(at, c, f, path); err != nil || at.failed {
		return err
	}
	if f.Op == ledger.OpMoved && path != f.From {
		return t.moveBack(at, c, f, path)
	}
	return nil
}

// locate gives the path of a file in the tree.
func (t *tree) locate(c change, f fileChange) (string, error) {
	if f.Op == ledger.OpDeleted {
		return f.Path, nil
	}
	return t.lookup.follow(c, f)
}

// undoContent adds a change to what is being undone of a file.
func (t *tree) undoContent(at *file, c change, f fileChange, path string) error {
	from, to := version{f.After, f.AfterOID}, version{f.Before, f.BeforeOID}
	if f.Op == ledger.OpCreated {
		to = version{}
	}
	at.records = append(at.records, c.ID)
	if at.step != nil && at.step.to.hash == from.hash {
		at.step.to = to
		return nil
	}
	if err := t.settle(at); err != nil || at.failed {
		return err
	}
	if from.hash != to.hash {
		at.step = &step{from: from, to: to, newest: c, path: path}
	}
	return nil
}

// moveBack gives a file its old path, where the move that is undone was its last.
func (t *tree) moveBack(at *file, c change, f fileChange, path string) error {
	if path != f.Path {
		return t.conflict(at, c, path, fmt.Sprintf("it was moved on from %s to %s, so moving it back to %s would take back more than this record", f.Path, path, f.From))
	}
	there, err := t.at(f.From)
	if err == nil {
		err = t.settle(there)
	}
	switch {
	case err != nil:
		t.refuse(at, c, f.From, err.Error())
		return nil
	case there.failed:
		return nil
	case there.now.hash != "":
		return t.conflict(at, c, f.From, "another file stands where it was moved from")
	}
	at.records = append(there.records, at.records...)
	t.files[f.From], t.files[path] = at, &file{}
	return nil
}

// at gives the file that has a path in the tree. An error says why the path cannot be used.
func (t *tree) at(path string) (*file, error) {
	f := t.files[path]
	if f == nil {
		f = &file{}
		f.unfit = t.load(f, path)
		t.files[path], t.disk[path] = f, &file{origin: f.origin, now: f.now}
	}
	return f, f.unfit
}

// load looks at a path on disk.
func (t *tree) load(f *file, path string) error {
	target, err := t.Files.Resolve(path)
	if err != nil {
		return err
	}
	defer target.Close()
	switch {
	case target.Path() != path:
		return fmt.Errorf("the path leads to %s now", target.Path())
	case target.Protection() >= workspace.ProtectNever:
		return errors.New("the path belongs to the governance files or to git")
	case target.Kind() == workspace.Missing:
		return nil
	case target.Kind() != workspace.Regular:
		return fmt.Errorf("a %s stands there", target.Kind())
	}
	content, err := target.Read(t.Largest)
	if err != nil {
		return err
	}
	f.origin, f.now = path, version{hash: string(content.Hash)}
	return t.contents.add(f.now.hash, content.Bytes)
}

// stands reports whether all files of a change are as it left them although it is undone and no record says that they
// are so again: somebody put them back, with git perhaps.
func (t *tree) stands(c change) bool {
	for _, f := range c.files {
		path, err := t.locate(c, f)
		if err != nil || f.Op == ledger.OpMoved && path != f.Path {
			return false
		}
		at, err := t.at(path)
		if err != nil || at.now.hash != f.After || t.recorded(path) == f.After {
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
				return c.After
			}
		}
	}
	return ""
}

// result compares the tree with the disk.
func (t *tree) result() ([]File, error) {
	for _, path := range t.paths() {
		if err := t.settle(t.files[path]); err != nil {
			return nil, err
		}
	}
	if len(t.conflicts) > 0 {
		return nil, nil
	}
	var files []File
	left := map[string]bool{}
	for _, path := range t.paths() {
		f := t.files[path]
		if f.origin != "" && f.origin != path && f.now.hash != "" && t.free(path) && t.vacated(f.origin) {
			files = append(files, t.change(f, workspace.Move, path, f.origin))
			left[path], left[f.origin] = true, true
		}
	}
	for _, path := range t.paths() {
		f, was := t.files[path], t.disk[path]
		switch {
		case left[path] || f.now.hash == was.now.hash:
		case was.now.hash == "":
			files = append(files, t.change(f, workspace.Create, path, ""))
		case f.now.hash == "":
			files = append(files, t.change(f, workspace.Delete, path, path))
		default:
			files = append(files, t.change(f, workspace.Modify, path, path))
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

func (t *tree) paths() []string {
	var paths []string
	for path := range t.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// free: nothing stands at the path on disk. Then a move can go there.
func (t *tree) free(path string) bool { return t.disk[path].now.hash == "" }

// vacated: nothing will stand at the path. Else it is the content that changes, of both paths.
func (t *tree) vacated(path string) bool { return t.files[path].now.hash == "" }

func (t *tree) change(f *file, op workspace.Op, path, was string) File {
	out := File{Op: op, Path: path, Merged: f.merged, Records: f.records, AfterHash: f.now.hash}
	out.After = t.contents.known[f.now.hash]
	if was != "" {
		out.BeforeHash = t.disk[was].now.hash
		out.Before = t.contents.known[out.BeforeHash]
	}
	if op == workspace.Move {
		out.From = was
	}
	if op == workspace.Delete {
		out.After = nil
	}
	return out
}
