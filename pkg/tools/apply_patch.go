package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type patchArgs struct {
	hooks.Common
	Patch string `json:"patch"`
}

type patchTool struct {
	deps *Deps
	spec hooks.Spec
	args *arguments
}

func applyPatch(d *Deps) hooks.Tool {
	file := open([]string{"path", "operation", "content_hash"}, schema{
		"path":         text("Workspace-relative; the new path of a moved file."),
		"from":         text("Where a moved file was."),
		"operation":    oneOf("What became of the file.", "created", "modified", "deleted", "moved", "unchanged"),
		"content_hash": text("sha256 of the raw bytes now on disk, empty for a deleted file."),
	})
	spec := hooks.Spec{
		Name: "apply_patch", Title: "Apply a patch to several files", Class: hooks.Destructive,
		Description: "Add, update, move and delete several files at once: all of them or none. Format:\n*** Begin Patch\n*** Add File: path\n+line\n" +
			"*** Update File: path\n*** Move to: new/path\n@@ optional line of context\n context\n-old line\n+new line\n*** Delete File: path\n*** End Patch\n" +
			"Every path must be in the scope of the selected intent. A file can be deleted only after read_file delivered it.",
		InputSchema: mutatingInput([]string{"patch"}, schema{"patch": text("The whole patch.")}),
		OutputSchema: output(open([]string{"files", "record_id", "mutation_class", "warnings"}, schema{
			"files":          list("Every file of the patch.", file),
			"record_id":      text("The ledger record, empty if nothing changed."),
			"mutation_class": text("As recorded."),
			"warnings":       list("What was matched loosely, or failed behind the change.", schema{"type": "string"}),
		})),
	}
	return &patchTool{d, spec, &arguments{name: spec.Name, source: spec.InputSchema}}
}

func (t *patchTool) Spec() hooks.Spec { return t.spec }

func (t *patchTool) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	var args patchArgs
	if err := t.args.decode(raw, &args); err != nil {
		return nil, err
	}
	patch, err := edit.ParsePatch(args.Patch)
	if err != nil {
		return nil, refusal.Newf(refusal.InvalidArguments, "The patch cannot be read: %v. Nothing was changed.", err).
			Suggest("Mend the patch at the line that the message names.")
	}
	c := &patchCall{tool: t, call: call, byPath: make(map[string]*patchFile), notes: patch.Notes}
	for i := range patch.Sections {
		c.addSection(&patch.Sections[i])
	}
	return c, nil
}

// patchFile is one file of a patch: where it starts, and what the sections
// that name it make of it, in their order.
type patchFile struct {
	effect   *hooks.FileEffect
	target   *workspace.Target
	to       *workspace.Target
	sections []*edit.Section
	// conflict is why the sections cannot take effect together. It is told
	// with the plan: scope and secrets come first.
	conflict *refusal.Refusal
}

type patchCall struct {
	tool   *patchTool
	call   *hooks.Call
	files  []*patchFile
	byPath map[string]*patchFile
	notes  []string
}

// addSection finds the file that a section goes on with: a section after a
// move may name the file by its new path.
func (c *patchCall) addSection(s *edit.Section) {
	target, effect := c.tool.deps.target(s.Path)
	f, ok := c.byPath[effect.Path]
	if ok && effect.Problem == nil {
		target.Close()
	} else {
		f = &patchFile{effect: effect, target: target}
		effect.Knowledge = hooks.KnowsBySearch
		c.files = append(c.files, f)
		c.byPath[effect.Path] = f
	}
	f.sections = append(f.sections, s)
	switch s.Op {
	case edit.OpAdd:
	case edit.OpDelete:
		f.effect.Kind, f.effect.Knowledge = hooks.Delete, hooks.KnowsNothing
	default:
		if f.effect.Kind == hooks.Create && len(f.sections) == 1 {
			f.effect.Kind = hooks.Modify
		}
	}
	if s.To != "" {
		c.addMove(f, s)
	}
}

func (c *patchCall) addMove(f *patchFile, s *edit.Section) {
	to, effect := c.tool.deps.target(s.To)
	if f.to != nil {
		f.to.Close()
	}
	f.to = to
	f.effect.To = effect.Path
	f.effect.Protection = max(f.effect.Protection, effect.Protection)
	f.effect.Kind = hooks.Move
	if effect.Problem != nil && f.effect.Problem == nil {
		f.effect.Problem = effect.Problem
	}
	if other, ok := c.byPath[effect.Path]; ok && other != f {
		f.conflict = refusal.Newf(refusal.InvalidArguments,
			"Patch line %d moves %s to %s, which another section of the patch is about. Nothing was changed.", s.Line, f.effect.Path, effect.Path).
			With("path", effect.Path).Suggest("Send two patches: the second when the first has made the place free.")
		return
	}
	c.byPath[effect.Path] = f
}

func (c *patchCall) Effects() hooks.Effects {
	var e hooks.Effects
	for _, f := range c.files {
		e.Files = append(e.Files, f.effect)
	}
	return e
}

func (c *patchCall) Close() error {
	for _, f := range c.files {
		if f.target != nil {
			f.target.Close()
		}
		if f.to != nil {
			f.to.Close()
		}
	}
	return nil
}

func (c *patchCall) Plan(context.Context) (hooks.Planned, error) {
	planned := &changes{deps: c.tool.deps, call: c.call, notes: c.notes, render: renderPatch}
	var failed []any
	var first *refusal.Refusal
	for _, f := range c.files {
		change, notes, err := f.plan(c.tool.deps)
		if err != nil {
			r, ok := refusal.As(err)
			if !ok {
				return nil, err
			}
			if first == nil {
				first = r
			}
			failed = append(failed, map[string]any{"path": f.effect.Path, "error_type": r.Code(), "error": r.Reason(), "details": r.Details()})
			continue
		}
		planned.notes = append(planned.notes, notes...)
		planned.add(f.effect, change)
	}
	if first != nil {
		return nil, first.With("failed_files", failed)
	}
	return planned, nil
}

// patchState is a file between two sections.
type patchState struct {
	text   string
	exists bool
	notes  []string
}

// plan composes the sections of one file.
func (f *patchFile) plan(d *Deps) (workspace.Change, []string, error) {
	original, exists, err := f.load(d)
	if err != nil {
		return workspace.Change{}, nil, err
	}
	if f.conflict != nil {
		return workspace.Change{}, nil, f.conflict
	}
	now := patchState{text: original.String, exists: exists}
	for _, s := range f.sections {
		if now, err = f.apply(s, now, d.Match); err != nil {
			return workspace.Change{}, nil, err
		}
	}
	change, err := f.settle(d, original, exists, now)
	return change, now.notes, err
}

func (f *patchFile) load(d *Deps) (text workspace.Text, exists bool, err error) {
	if f.keepsContent() {
		text, err = d.load(f.target, f.effect)
		if f.effect.BeforeHash != "" {
			// What is only deleted or moved need not be text.
			return text, true, nil
		}
		return text, false, err
	}
	text, err = d.loadText(f.target, f.effect)
	if !f.effect.Exists && f.sections[0].Op == edit.OpAdd {
		return text, false, nil
	}
	return text, err == nil, err
}

// keepsContent: no section looks at the content.
func (f *patchFile) keepsContent() bool {
	for _, s := range f.sections {
		if s.Op != edit.OpDelete && (s.Op != edit.OpMove || len(s.Hunks) > 0) {
			return false
		}
	}
	return true
}

func (f *patchFile) apply(s *edit.Section, now patchState, opt edit.Options) (patchState, error) {
	path := f.effect.Path
	switch {
	case s.Op == edit.OpAdd && now.exists && f.to != nil:
		return now, refusal.Newf(refusal.InvalidArguments, "Patch line %d adds a file where the patch moves %s from or to. Nothing was changed.", s.Line, path).
			With("path", path).Suggest("Send two patches: the move first, then the new file.")
	case s.Op == edit.OpAdd && now.exists:
		return now, refusal.Newf(refusal.DiffNotApplied, "%s exists already (patch line %d adds it). Nothing was changed.", path, s.Line).
			With("path", path).Suggest("Use `*** Update File:` to change it.")
	case s.Op != edit.OpAdd && !now.exists:
		return now, refusal.Newf(refusal.FileNotFound, "%s does not exist (patch line %d). Nothing was changed.", path, s.Line).With("path", path)
	case s.Op == edit.OpDelete:
		return patchState{notes: now.notes}, nil
	case s.Op == edit.OpMove && len(s.Hunks) == 0:
		return now, nil
	}
	result, err := s.Apply(now.text, opt)
	if err != nil {
		return now, matchProblem(path, f.effect.BeforeHash, err)
	}
	for _, n := range result.Notes {
		now.notes = append(now.notes, path+": "+n)
	}
	now.text, now.exists = result.Text, true
	return now, nil
}

// settle decides what the sections together come to.
func (f *patchFile) settle(d *Deps, original workspace.Text, existed bool, now patchState) (workspace.Change, error) {
	effect, change := f.effect, workspace.Change{Target: f.target}
	moves := f.to != nil && effect.To != effect.Path
	switch {
	case !now.exists && !existed:
		return change, refusal.Newf(refusal.InvalidArguments, "The patch adds %s and deletes it again.", effect.Path)
	case !now.exists:
		effect.Kind, effect.To, effect.Knowledge = hooks.Delete, "", hooks.KnowsNothing
		effect.Hunks = edit.Hunks(original.String, "")
		change.Op = workspace.Delete
		return change, nil
	case moves && f.to.Kind() != workspace.Missing:
		return change, refusal.Newf(refusal.DiffNotApplied, "%s cannot be moved to %s: a file stands there. Nothing was changed.", effect.Path, effect.To).
			With("path", effect.To).Suggest("Delete or move away %s in a patch of its own first, or choose another name.", effect.To)
	}
	if err := f.encode(d, original, existed, now, &change); err != nil {
		return change, err
	}
	switch {
	case !existed && moves:
		// Nothing ever stood at the first path: the file is made where it ends up.
		effect.Kind, effect.Path, effect.To = hooks.Create, effect.To, ""
		change.Op, change.Target = workspace.Create, f.to
	case !existed:
		effect.Kind, effect.To, change.Op = hooks.Create, "", workspace.Create
	case moves:
		effect.Kind, change.Op, change.To = hooks.Move, workspace.Move, f.to
	default:
		effect.Kind, effect.To, change.Op = hooks.Modify, "", workspace.Modify
	}
	return change, nil
}

// encode gives the change its content. One that is only moved keeps its bytes.
func (f *patchFile) encode(d *Deps, original workspace.Text, existed bool, now patchState, change *workspace.Change) error {
	effect := f.effect
	if existed && now.text == original.String {
		effect.After, effect.AfterHash = effect.Before, effect.BeforeHash
		return nil
	}
	encoded, err := original.Encode(now.text)
	if err != nil {
		return refusal.Newf(refusal.InvalidArguments, "%s is %s, which cannot hold the new content: %v.", effect.Path, original.Encoding, err).With("path", effect.Path)
	}
	if int64(len(encoded)) > d.FileLimit {
		return tooLarge(effect.Path, d.FileLimit)
	}
	setAfter(effect, original, now.text, encoded)
	change.After = encoded
	return nil
}

type patchedFile struct {
	Path        string   `json:"path"`
	From        string   `json:"from,omitempty"`
	Operation   hooks.Op `json:"operation"`
	ContentHash string   `json:"content_hash"`
}

func renderPatch(o *hooks.Outcome, _ []string) (hooks.Result, error) {
	result := struct {
		Files         []patchedFile `json:"files"`
		RecordID      string        `json:"record_id"`
		MutationClass string        `json:"mutation_class"`
		Warnings      []string      `json:"warnings"`
	}{RecordID: o.RecordID, MutationClass: string(o.Class.Class), Warnings: append([]string{}, o.Warnings...)}
	var b strings.Builder
	for _, f := range o.Files {
		result.Files = append(result.Files, patchedFile{f.Path, f.From, f.Op, f.AfterHash})
		fmt.Fprintf(&b, "%s: %s", f.Path, f.Op)
		if f.From != "" {
			fmt.Fprintf(&b, " from %s", f.From)
		}
		if f.AfterHash != "" {
			fmt.Fprintf(&b, " [content_hash: %s]", f.AfterHash)
		}
		b.WriteByte('\n')
	}
	if o.RecordID != "" {
		fmt.Fprintf(&b, "[record: %s, %s]\n", o.RecordID, result.MutationClass)
	}
	for _, w := range result.Warnings {
		b.WriteString("Note: " + w + "\n")
	}
	return encodeResult(strings.TrimRight(b.String(), "\n"), result)
}
