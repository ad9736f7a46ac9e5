package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// maxPatchSections bounds one patch. Every file of it holds descriptors from TARGETS until the call is over; without
// a bound one patch uses up those of the process, and the calls of other sessions fail.
const maxPatchSections = 500

type patchArgs struct {
	changeArgs
	previewArg
	Patch string `json:"patch"`
}

func applyPatch(files *Files) hooks.Tool {
	spec := hooks.Spec{
		Name: "apply_patch", Title: "Patch several files", Class: hooks.Destructive,
		Description: "Add, update, move and delete files at once, all or none:\n*** Begin Patch\n*** Add File: path\n+line\n" +
			"*** Update File: path\n*** Move to: new/path\n@@ optional context\n context\n-old line\n+new line\n*** Delete File: path\n*** End Patch\n" +
			"Paths must be in the selected intent's scope. Read a file before you delete it.",
	}
	return define[patchArgs, patchResult](spec, func(call *hooks.Call, args patchArgs) (hooks.Targeted, error) {
		patch, err := edit.ParsePatch(args.Patch)
		if err != nil {
			return nil, refusal.Newf(refusal.InvalidArguments, "The patch cannot be read, and nothing was changed: %v", err).
				Suggest("%s", patchAdvice.form)
		}
		if n := len(patch.Sections); n > maxPatchSections {
			return nil, refusal.Newf(refusal.TooLarge, "The patch has %d sections; at most %d are taken at once. Nothing was changed.", n, maxPatchSections).
				Suggest("Send several patches of at most %d sections each.", maxPatchSections)
		}
		c := &patchCall{in: files, call: call, byPath: make(map[string]*patchFile), notes: patch.Notes, preview: args.Preview}
		for i := range patch.Sections {
			c.addSection(&patch.Sections[i])
		}
		return c, nil
	}, nil)
}

type patchCall struct {
	in      *Files
	call    *hooks.Call
	files   []*patchFile
	byPath  map[string]*patchFile
	notes   []string
	preview bool
}

// addSection finds the file that a section goes on with: a section after a move may name the file by its new path.
func (c *patchCall) addSection(s *edit.Section) {
	target, effect := c.in.target(s.Path)
	f, ok := c.byPath[effect.Path]
	if ok && effect.Problem == nil {
		target.Close()
	} else {
		f = &patchFile{Files: c.in, effect: effect, target: target}
		effect.Knowledge = hooks.KnowsBySearch
		c.files = append(c.files, f)
		c.byPath[effect.Path] = f
	}
	f.sections = append(f.sections, s)
	switch s.Op {
	case change.Created:
	case change.Deleted:
		f.effect.Op, f.effect.Knowledge = change.Deleted, hooks.KnowsNothing
	default:
		if f.effect.Op == change.Created && len(f.sections) == 1 {
			f.effect.Op = change.Modified
		}
	}
	if s.To != "" {
		c.addMove(f, s)
	}
}

func (c *patchCall) addMove(f *patchFile, s *edit.Section) {
	to, effect := c.in.target(s.To)
	f.to.Close()
	f.to = to
	f.effect.From, f.effect.Path = f.effect.Source(), effect.Path
	f.effect.Protection = max(f.effect.Protection, effect.Protection)
	f.effect.GitParts = append(f.effect.GitParts, effect.GitParts...)
	f.effect.Op = change.Moved
	if effect.Problem != nil && f.effect.Problem == nil {
		f.effect.Problem = effect.Problem
	}
	if other, ok := c.byPath[effect.Path]; ok && other != f {
		f.conflict = refusal.AtPath(refusal.InvalidArguments, effect.Path, "Patch line %d moves %s to %s, which another section of the patch is about. Nothing was changed.", s.Line, f.effect.From, effect.Path).
			Suggest("Send two patches: the second when the first has made the place free.")
		return
	}
	c.byPath[effect.Path] = f
}

func (c *patchCall) Effects() hooks.Effects {
	e := hooks.Effects{Preview: c.preview}
	for _, f := range c.files {
		e.Files = append(e.Files, f.effect)
	}
	return e
}

func (c *patchCall) Close() error {
	for _, f := range c.files {
		f.target.Close()
		f.to.Close()
	}
	return nil
}

func (c *patchCall) Plan(context.Context) (hooks.Planned, error) {
	planned := &changes{Files: c.in, call: c.call, notes: c.notes, render: renderPatch}
	var failed patchFailures
	for _, f := range c.files {
		change, err := f.plan()
		if err != nil {
			r, ok := refusal.As(err)
			if !ok {
				return nil, err
			}
			failed.add(f.effect.Source(), r)
			continue
		}
		planned.notes = append(planned.notes, f.notes...)
		planned.add(f.effect, change)
	}
	if failed.first != nil {
		return nil, failed.refuse()
	}
	if c.preview {
		return &preview{planned, func(diff string, warnings []string) any {
			result := patchResult{Files: []patchedFile{}, Warnings: warnings, Diff: diff, previewed: previewed{true}}
			for _, e := range planned.effects {
				f := outcomeOf(e)
				result.Files = append(result.Files, patchedFile{f.Path, f.From, f.Op, f.After.Hash})
			}
			return result
		}}, nil
	}
	return planned, nil
}

// patchFailures are the files of a patch that cannot be changed as it says.
type patchFailures struct {
	first *refusal.Refusal
	paths []string
	files []failedFile
	size  int
}

type failedFile struct {
	Path      string         `json:"path"`
	ErrorType refusal.Code   `json:"error_type"`
	Error     string         `json:"error,omitempty"`
	Details   map[string]any `json:"details,omitempty"`
}

// maxFailures bounds what is said of all failed files in full, in bytes, and maxFailed how many are named.
const (
	maxFailures = 20_000
	maxFailed   = 50
)

func (p *patchFailures) add(path string, r *refusal.Refusal) {
	f := failedFile{Path: path, ErrorType: r.Code()}
	switch p.size += len(r.Reason()); {
	case p.first == nil: // its details are those of the whole refusal
		p.first, f.Error = r, r.Reason()
	case p.size <= maxFailures:
		f.Error, f.Details = r.Reason(), r.Details()
	}
	if p.paths = append(p.paths, path); len(p.files) < maxFailed {
		p.files = append(p.files, f)
	}
}

// refuse says how many failed, and shows the first.
func (p *patchFailures) refuse() *refusal.Refusal {
	r := p.first
	if n := len(p.paths); n > 1 {
		named := strings.Join(p.paths[:min(n, 10)], ", ")
		if n > 10 {
			named += ", …"
		}
		r = r.Reworded("%d files of the patch cannot be changed as it says (%s), and nothing was changed. The first: %s", n, clip(named, 2000), r.Reason())
		if r.Detail("failed") == nil { // of its blocks
			r = r.With("failed", n)
		}
	}
	return r.With("failed_files", p.files)
}

type patchedFile struct {
	Path        string    `json:"path" doc:"Workspace-relative; the new path of a moved file."`
	From        string    `json:"from,omitempty" doc:"Where a moved file was."`
	Operation   change.Op `json:"operation" enum:"created,modified,deleted,moved,unchanged" doc:"What became of the file."`
	ContentHash string    `json:"content_hash" doc:"sha256 of the raw bytes now on disk, empty for a deleted file."`
}

type patchResult struct {
	Files         []patchedFile `json:"files" doc:"Every file of the patch."`
	RecordID      string        `json:"record_id" doc:"The ledger record, empty if nothing changed."`
	MutationClass string        `json:"mutation_class" doc:"As recorded."`
	Warnings      []string      `json:"warnings" doc:"What was matched loosely, or failed behind the change."`
	Diff          string        `json:"diff,omitempty" doc:"Of a preview."`
	previewed
	editedByOperator
}

func renderPatch(o *hooks.Outcome) (hooks.Result, error) {
	result := patchResult{editedByOperator: editedByOperator{o.Edited}, RecordID: o.RecordID, MutationClass: string(o.Class.Class), Warnings: append([]string{}, o.Warnings...)}
	var b strings.Builder
	for _, f := range o.Files {
		result.Files = append(result.Files, patchedFile{f.Path, f.From, f.Op, f.After.Hash})
		fmt.Fprintf(&b, "%s: %s", f.Path, f.Op)
		if f.From != "" {
			fmt.Fprintf(&b, " from %s", f.From)
		}
		if f.After.Hash != "" {
			fmt.Fprintf(&b, " [content_hash: %s]", f.After.Hash)
		}
		b.WriteByte('\n')
	}
	if o.RecordID != "" {
		fmt.Fprintf(&b, "[record: %s, %s]\n", o.RecordID, result.MutationClass)
	}
	return hooks.NewResult(strings.TrimRight(b.String(), "\n")+editedText(o)+warned(result.Warnings), result)
}
