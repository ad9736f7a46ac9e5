package tools

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// patchFile is one file of a patch: where it starts, and what the sections that name it make of it, in their order.
type patchFile struct {
	*Files
	effect   *hooks.FileEffect
	target   *workspace.Target
	to       *workspace.Target
	sections []*edit.Section
	// conflict is why the sections cannot take effect together. It is told with the plan: scope and secrets come first.
	conflict *refusal.Refusal

	original workspace.Text // before the patch, if the file existed
	existed  bool
	text     string // between two sections, if it exists then
	exists   bool
	notes    []string
}

// plan composes the sections of one file.
func (f *patchFile) plan() (write workspace.Change, err error) {
	if err := f.read(); err != nil {
		return write, err
	}
	if f.conflict != nil {
		return write, f.conflict
	}
	f.text, f.exists = workspace.Shown(f.original.String), f.existed
	for _, s := range f.sections {
		if err := f.apply(s); err != nil {
			return write, err
		}
	}
	return f.settle()
}

func (f *patchFile) read() (err error) {
	// A section that looks at the content needs text. What is only deleted or moved need not be.
	if slices.ContainsFunc(f.sections, func(s *edit.Section) bool { return s.Op != change.Deleted && !movesOnly(s) }) {
		f.original, err = f.loadText(f.target, f.effect)
		if !f.effect.Exists && f.sections[0].Op == change.Created {
			return nil
		}
		f.existed = err == nil
		return err
	}
	f.original, err = f.load(f.target, f.effect)
	if f.existed = f.effect.Before.Hash != ""; f.existed {
		return nil
	}
	return err
}

func movesOnly(s *edit.Section) bool { return s.Op == change.Moved && len(s.Hunks) == 0 }

func (f *patchFile) apply(s *edit.Section) error {
	path := f.target.Path()
	switch {
	case s.Op == change.Created && f.exists && f.to != nil:
		return refusal.AtPath(refusal.InvalidArguments, path, "Patch line %d adds a file where the patch moves %s from or to. Nothing was changed.", s.Line, path).
			Suggest("Send two patches: the move first, then the new file.")
	case s.Op == change.Created && f.exists:
		return refusal.AtPath(refusal.DiffNotApplied, path, "%s exists already (patch line %d adds it). Nothing was changed.", path, s.Line).
			Suggest("Use `*** Update File:` to change it.")
	case s.Op != change.Created && !f.exists:
		return refusal.AtPath(refusal.FileNotFound, path, "%s does not exist (patch line %d). Nothing was changed.", path, s.Line)
	case s.Op == change.Deleted:
		f.text, f.exists = "", false
		return nil
	case movesOnly(s):
		return nil
	}
	result, err := s.Apply(f.text, f.Match)
	if err != nil {
		return patchAdvice.refuse(path, f.effect.Before.Hash, err)
	}
	for _, n := range result.Notes {
		f.notes = append(f.notes, path+": "+n)
	}
	f.text, f.exists = result.Text, true
	return nil
}

// settle decides what the sections together come to.
func (f *patchFile) settle() (workspace.Change, error) {
	effect, write := f.effect, workspace.Change{Target: f.target}
	path, to := f.target.Path(), f.target.Path()
	if f.to != nil {
		to = f.to.Path()
	}
	effect.Path, effect.From = path, ""
	switch {
	case !f.exists && !f.existed:
		return write, refusal.AtPath(refusal.InvalidArguments, path, "The patch adds %s and deletes it again.", path).
			Suggest("Leave both sections out of the patch.")
	case !f.exists:
		effect.Op, effect.Knowledge = change.Deleted, hooks.KnowsNothing
		effect.Hunks = edit.Hunks(f.original.String, "")
		write.Op = change.Deleted
		return write, nil
	case to != path && f.to.Kind() != workspace.Missing:
		return write, refusal.AtPath(refusal.DiffNotApplied, to, "%s cannot be moved to %s: a file stands there. Nothing was changed.", path, to).
			Suggest("Delete or move away %s in a patch of its own first, or choose another name.", to)
	}
	if f.existed && f.text == workspace.Shown(f.original.String) { // one that is only moved keeps its bytes
		effect.After.Bytes, effect.After.Hash = effect.Before.Bytes, effect.Before.Hash
	} else if err := f.encode(effect, f.original, f.text); err != nil {
		return write, err
	} else {
		write.After = effect.After.Bytes
	}
	switch {
	case !f.existed && to != path:
		// Nothing ever stood at the first path: the file is made where it ends up.
		effect.Op, effect.Path, write.Target = change.Created, to, f.to
	case !f.existed:
		effect.Op = change.Created
	case to != path:
		effect.Op, effect.Path, effect.From, write.To = change.Moved, to, path, f.to
	default:
		effect.Op = change.Modified
	}
	write.Op = effect.Op
	return write, nil
}
