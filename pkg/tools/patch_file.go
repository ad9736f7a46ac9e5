package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// patchFile is one file of a patch: where it starts, and what the sections that name it make of it, in their order.
type patchFile struct {
	effect   *hooks.FileEffect
	target   *workspace.Target
	to       *workspace.Target
	sections []*edit.Section
	// conflict is why the sections cannot take effect together. It is told with the plan: scope and secrets come first.
	conflict *refusal.Refusal
}

// patchState is a file between two sections.
type patchState struct {
	text   string
	exists bool
	notes  []string
}

// plan composes the sections of one file.
func (f *patchFile) plan(files *Files) (workspace.Change, []string, error) {
	original, exists, err := f.load(files)
	if err != nil {
		return workspace.Change{}, nil, err
	}
	if f.conflict != nil {
		return workspace.Change{}, nil, f.conflict
	}
	now := patchState{text: workspace.Shown(original.String), exists: exists}
	for _, s := range f.sections {
		if now, err = f.apply(s, now, files.Match); err != nil {
			return workspace.Change{}, nil, err
		}
	}
	change, err := f.settle(files, original, exists, now)
	return change, now.notes, err
}

func (f *patchFile) load(files *Files) (text workspace.Text, exists bool, err error) {
	if f.keepsContent() {
		text, err = files.load(f.target, f.effect)
		if f.effect.Before.Hash != "" {
			// What is only deleted or moved need not be text.
			return text, true, nil
		}
		return text, false, err
	}
	text, err = files.loadText(f.target, f.effect)
	if !f.effect.Exists && f.sections[0].Op == change.Created {
		return text, false, nil
	}
	return text, err == nil, err
}

// keepsContent: no section looks at the content.
func (f *patchFile) keepsContent() bool {
	for _, s := range f.sections {
		if s.Op != change.Deleted && (s.Op != change.Moved || len(s.Hunks) > 0) {
			return false
		}
	}
	return true
}

func (f *patchFile) apply(s *edit.Section, now patchState, opt edit.Options) (patchState, error) {
	path := f.target.Path()
	switch {
	case s.Op == change.Created && now.exists && f.to != nil:
		return now, refusal.AtPath(refusal.InvalidArguments, path, "Patch line %d adds a file where the patch moves %s from or to. Nothing was changed.", s.Line, path).
			Suggest("Send two patches: the move first, then the new file.")
	case s.Op == change.Created && now.exists:
		return now, refusal.AtPath(refusal.DiffNotApplied, path, "%s exists already (patch line %d adds it). Nothing was changed.", path, s.Line).
			Suggest("Use `*** Update File:` to change it.")
	case s.Op != change.Created && !now.exists:
		return now, refusal.AtPath(refusal.FileNotFound, path, "%s does not exist (patch line %d). Nothing was changed.", path, s.Line)
	case s.Op == change.Deleted:
		return patchState{notes: now.notes}, nil
	case s.Op == change.Moved && len(s.Hunks) == 0:
		return now, nil
	}
	result, err := s.Apply(now.text, opt)
	if err != nil {
		return now, patchAdvice.refuse(path, f.effect.Before.Hash, err)
	}
	for _, n := range result.Notes {
		now.notes = append(now.notes, path+": "+n)
	}
	now.text, now.exists = result.Text, true
	return now, nil
}

// settle decides what the sections together come to.
func (f *patchFile) settle(files *Files, original workspace.Text, existed bool, now patchState) (workspace.Change, error) {
	effect, write := f.effect, workspace.Change{Target: f.target}
	path, to := f.target.Path(), f.target.Path()
	if f.to != nil {
		to = f.to.Path()
	}
	effect.Path, effect.From = path, ""
	switch {
	case !now.exists && !existed:
		return write, refusal.AtPath(refusal.InvalidArguments, path, "The patch adds %s and deletes it again.", path).
			Suggest("Leave both sections out of the patch.")
	case !now.exists:
		effect.Op, effect.Knowledge = change.Deleted, hooks.KnowsNothing
		effect.Hunks = edit.Hunks(original.String, "")
		write.Op = change.Deleted
		return write, nil
	case to != path && f.to.Kind() != workspace.Missing:
		return write, refusal.AtPath(refusal.DiffNotApplied, to, "%s cannot be moved to %s: a file stands there. Nothing was changed.", path, to).
			Suggest("Delete or move away %s in a patch of its own first, or choose another name.", to)
	}
	if err := f.encode(files, original, existed, now, &write); err != nil {
		return write, err
	}
	switch {
	case !existed && to != path:
		// Nothing ever stood at the first path: the file is made where it ends up.
		effect.Op, effect.Path, write.Target = change.Created, to, f.to
	case !existed:
		effect.Op = change.Created
	case to != path:
		effect.Op, effect.Path, effect.From, write.To = change.Moved, to, path, f.to
	default:
		effect.Op = change.Modified
	}
	write.Op = effect.Op
	return write, nil
}

// encode gives the change its content. One that is only moved keeps its bytes.
func (f *patchFile) encode(files *Files, original workspace.Text, existed bool, now patchState, write *workspace.Change) error {
	effect := f.effect
	if existed && now.text == workspace.Shown(original.String) {
		effect.After.Bytes, effect.After.Hash = effect.Before.Bytes, effect.Before.Hash
		return nil
	}
	text, encoded, err := files.encode(effect, original, now.text)
	if err != nil {
		return err
	}
	setAfter(effect, original, text, encoded)
	write.After = encoded
	return nil
}
