package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const maxOutside = 100

// traceFiles looks at every file that differs.
func (r *review) traceFiles(diffs []difference) error {
	r.was = r.renames()
	for _, d := range diffs {
		if path, ok := strings.CutPrefix(d.oldPath, r.prefix); ok && isRegular(d.oldMode) {
			r.olds[path] = d.oldID
		}
	}
	for _, d := range diffs {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		oldIn, newIn := strings.HasPrefix(d.oldPath, r.prefix), strings.HasPrefix(d.newPath, r.prefix)
		switch {
		case !oldIn && !newIn:
			r.outside(d.newPath)
			continue
		case !oldIn: // a rename into the workspace
			r.outside(d.oldPath)
			d.oldMode, d.oldID, d.oldPath = modeNone, strings.Repeat("0", len(d.oldID)), d.newPath
		case !newIn:
			r.outside(d.newPath)
			d.newMode, d.newID, d.newPath = modeNone, strings.Repeat("0", len(d.newID)), d.oldPath
		}
		if r.isGovernance(d.oldPath) && r.isGovernance(d.newPath) {
			continue
		}
		if err := r.traceFile(d); err != nil {
			return fmt.Errorf("%s: %w", d.newPath, err)
		}
	}
	return nil
}

func (r *review) outside(path string) {
	if r.report.Beyond++; len(r.report.Outside) < maxOutside {
		r.report.Outside = append(r.report.Outside, path)
	}
}

// isGovernance tells the files that no tool for files may write, which are judged by their own check.
func (r *review) isGovernance(path string) bool {
	path = strings.TrimPrefix(path, r.prefix)
	return strings.HasPrefix(path, home+"/") || path == home || path == ignoreFile
}

// side is a file in one of the two commits.
type side struct {
	path    string // in the workspace
	there   bool
	mode    string
	id      string
	content []byte
	text    string
	isText  bool
}

func (r *review) side(mode, id, path string) (side, error) {
	s := side{path: strings.TrimPrefix(path, r.prefix), mode: mode, id: id, there: mode != modeNone && !isZero(id), isText: true}
	if !s.there || !isRegular(mode) {
		s.isText = !s.there
		return s, nil
	}
	content, ok := r.blobs.content(id)
	if !ok {
		s.isText = false
		return s, r.notLarge(id)
	}
	s.content = content
	if text, err := workspace.Decode(content); err == nil {
		s.text = text.String
	} else {
		s.isText = false
	}
	return s, nil
}

// notLarge gives an error for a content that is missing, and none for one that is too large to be compared.
func (r *review) notLarge(id string) error {
	if r.blobs.err != nil {
		return r.blobs.err
	}
	found, err := r.objects.Open(id)
	if err == nil && found.Kind == "" {
		err = fmt.Errorf("%w; fetch the whole repository, without a filter", ErrPartial)
	}
	return err
}

func (r *review) traceFile(d difference) error {
	before, err := r.side(d.oldMode, d.oldID, d.oldPath)
	if err != nil {
		return err
	}
	after, err := r.side(d.newMode, d.newID, d.newPath)
	if err != nil {
		return err
	}
	f := &File{Path: d.newPath, Status: status(d), Evidence: mutation.Unsupported}
	if d.oldPath != d.newPath {
		f.From = d.oldPath
	}
	related := r.related(r.names(before.path, after.path)...)
	f.describe(related)
	if d.oldID == d.newID || !before.isText || !after.isText {
		r.traceWhole(f, d, before, after, related)
	} else if err := r.traceLines(f, before, after, related); err != nil {
		return err
	}
	if before.there && after.there && before.isText && after.isText && d.oldID != d.newID {
		f.Evidence = r.opts.Judge(r.ctx, []mutation.File{{Path: after.path, Before: before.content, After: after.content}}).Evidence
		r.ends[after.path] = [2]string{before.id, after.id}
	}
	if before.there && after.there && d.oldMode != d.newMode && f.Kind != "mode" && setMode(d.newMode, after, related) == nil {
		r.find(CheckUntraced, Note, f.Path, fmt.Sprintf("no record explains that the file mode changed from %s to %s", d.oldMode, d.newMode), "Check that it is meant.")
	}
	r.report.Lines.add(f.Lines)
	r.report.Files = append(r.report.Files, *f)
	r.changed[after.path] = f
	return nil
}

func status(d difference) string {
	switch {
	case d.oldMode == modeNone:
		return "added"
	case d.newMode == modeNone:
		return "deleted"
	case d.oldPath != d.newPath:
		return "renamed"
	}
	return "modified"
}

// describe notes which records and intents changed the file.
func (f *File) describe(related []*added) {
	f.Records = len(related)
	for _, rec := range related {
		if rec.IntentID != "" && !slices.Contains(f.Intents, rec.IntentID) {
			f.Intents = append(f.Intents, rec.IntentID)
		}
	}
	slices.Sort(f.Intents)
}

// traceWhole judges what has no lines to compare: it is one line, traced if a record made just this content.
func (r *review) traceWhole(f *File, d difference, before, after side, related []*added) {
	switch {
	case d.oldMode == modeCommit || d.newMode == modeCommit:
		f.Kind = "submodule"
	case d.oldMode == modeLink || d.newMode == modeLink:
		f.Kind = "link"
	case d.oldID == d.newID && d.oldPath != d.newPath:
		f.Kind = "rename"
		r.way(f, before, after, related)
	case d.oldID == d.newID:
		f.Kind = "mode"
	case before.there && before.content == nil || after.there && after.content == nil:
		f.Kind = "large"
	default:
		f.Kind = "binary"
		r.way(f, before, after, related)
	}
	f.Lines = Lines{Added: 1}
	if !after.there {
		f.Lines = Lines{Removed: 1}
	}
	last := madeBy(before, after, related)
	if f.Kind == "mode" {
		last = setMode(d.newMode, after, related)
	}
	if last == nil {
		if !after.there {
			f.Removed = 1
		}
		return
	}
	f.Lines.Traced = 1
	if after.there {
		r.intent(last.IntentID).Lines++
	}
}

// madeBy gives the newest record that ended in the state of a file, or took it away.
func madeBy(before, after side, related []*added) *added {
	for _, rec := range slices.Backward(related) {
		for _, c := range rec.Changes {
			gone := !after.there && (c.Op == change.Deleted && c.Path == before.path && c.Before.OID == before.id || c.From == before.path)
			made := after.there && c.Op != change.Unchanged && c.Path == after.path && c.After.OID == after.id
			if gone || made {
				return rec
			}
		}
	}
	return nil
}

// setMode gives the newest record after which a file had a mode as git knows it: executable or not. Records of systems
// without such modes, and of earlier versions, do not say.
func setMode(mode string, after side, related []*added) *added {
	for _, rec := range slices.Backward(related) {
		for _, c := range rec.Changes {
			was, known := c.Before.Mode.FileMode()
			is, changed := c.After.Mode.FileMode()
			if c.Path == after.path && known && changed && was != is {
				if (gitread.FileMode(is) == modeExecutable) == (mode == modeExecutable) {
					return rec
				}
				return nil
			}
		}
	}
	return nil
}
