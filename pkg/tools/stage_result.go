package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// tellStage adds to a result what became of the command's layer.
func (c *commandCall) tellStage(result *commandResult) {
	s := c.stage
	if s == nil {
		if c.level() == sandbox.Full && c.client.Run == nil {
			result.Direct = c.directly
		}
		return
	}
	switch {
	case s.taken != nil:
		result.ChangedFiles, result.ChangeRecordID, result.Packages = s.taken.ChangedFiles, s.taken.RecordID, s.taken.Packages
		result.Warnings = append(result.Warnings, s.taken.Warnings...)
	case s.found != nil && (s.refused == nil || s.refused.Code() != refusal.Cancelled):
		result.StagedID = s.id
		result.ChangedFiles = c.wouldChange()
		if c.args.Staged {
			result.Diff = c.stagedDiff()
		}
	}
}

func directText(why string) string {
	if why == "" {
		return ""
	}
	return ", direct because " + why
}

func (c *commandCall) stagedText(result *commandResult) string {
	if result.StagedID == "" {
		return ""
	}
	text := fmt.Sprintf("\n[nothing of this is in the workspace: it is kept as %s for %v; then thrown away; commit_staged takes it over]", result.StagedID, staging.KeptFor)
	if result.Diff != "" {
		text += "\n\n" + result.Diff
	}
	return text
}

// wouldChange lists what the command did to its layer.
func (c *commandCall) wouldChange() []changedFile {
	judge := c.judge()
	files := []changedFile{}
	for _, f := range c.stage.found.files {
		files = append(files, changedFile{Path: f.path, Operation: f.op, From: f.from, InScope: judge.Allows(f.path) && (f.from == "" || judge.Allows(f.from))})
	}
	for _, l := range c.stage.found.links {
		files = append(files, changedFile{Path: l.path, Operation: l.op(), InScope: judge.Allows(l.path)})
	}
	slices.SortStableFunc(files, func(a, b changedFile) int { return strings.Compare(a.Path, b.Path) })
	return files[:min(len(files), maxShown)]
}

const (
	// maxStagedDiff bounds the diff of a result, in bytes, and maxDiffed a file that is in it.
	maxStagedDiff = 24 << 10
	maxDiffed     = 1 << 20
)

// stagedDiff shows what the command did to texts, as far as it is short. What is secret is in no layer.
func (c *commandCall) stagedDiff() string {
	var b strings.Builder
	for i, f := range c.stage.found.files {
		diff := c.diffOf(c.stage.upper(), f)
		if b.Len()+len(diff) > maxStagedDiff {
			fmt.Fprintf(&b, "… and %d more files\n", len(c.stage.found.files)-i)
			break
		}
		b.WriteString(diff)
	}
	return b.String()
}

func (f *Files) diffOf(upper string, file layerFile) string {
	read := func(top, path string) ([]byte, error) {
		return durable.ReadRegular(filepath.Join(top, path), maxDiffed)
	}
	var before, after []byte
	var errs [2]error
	if file.op != change.Created {
		before, errs[0] = read(f.Workspace.Dir(), cmp.Or(file.from, file.path))
	}
	if file.op != change.Deleted {
		after, errs[1] = read(upper, file.path)
	}
	was, is, ok := hooks.Texts(before, after)
	if !ok || errs[0] != nil || errs[1] != nil {
		return fmt.Sprintf("%s: %s, not shown\n", printable.Name(file.path), file.op)
	}
	return workspace.Shown(edit.Unified("a/"+cmp.Or(file.from, file.path), "b/"+file.path, was, is, 3))
}

// notTaken is the answer to a command of which nothing was taken over: the refusal of the take-over, with the fields of the
// result, as the command did run.
func (c *commandCall) notTaken(result commandResult) (hooks.Result, error) {
	r := c.stage.refused
	if outside := c.outside(); len(outside) > 0 && isOfPaths(r) {
		r = c.stagedOutside(r, outside)
	} else {
		r = r.Reworded("The command ran on a layer of its own, and nothing of what it did was taken over: %s", r.Reason())
	}
	r = r.With("staged_id", c.stage.id).With("record_id", result.RecordID)
	return mergedResult(result, r, string(c.call.Class))
}

// isOfPaths reports whether a refusal is about which paths were changed.
func isOfPaths(r *refusal.Refusal) bool {
	switch r.Code() {
	case refusal.ScopeViolation, refusal.ProtectedPath, refusal.IntentignorePathBlocked, refusal.PathOutsideWorkspace, refusal.NotARegularFile:
		return true
	}
	return false
}

// outside are the paths that the command may not change, each with the reason.
func (c *commandCall) outside() (found []hooks.Violation) {
	judge := c.judge()
	add := func(path string, op change.Op) {
		if reason := judge.Forbids(path); reason != "" {
			found = append(found, hooks.Violation{Path: path, Op: op, Reason: reason, Wanted: judge.Wanted(path), Reverted: true})
		}
	}
	for _, f := range c.stage.found.files {
		add(f.path, f.op)
		if f.from != "" {
			add(f.from, f.op)
		}
	}
	for _, l := range c.stage.found.links {
		add(l.path, l.op())
	}
	for _, dir := range c.stage.found.untold() {
		add(dir, change.Created)
	}
	return found
}

// stagedOutside is the refusal of a command that left its scope, on its layer.
func (c *commandCall) stagedOutside(cause *refusal.Refusal, outside []hooks.Violation) *refusal.Refusal {
	o := &hooks.Outcome{Violations: outside}
	r := outOfScope(c.call, o)
	return r.Reworded("The command ran on a layer of its own and changed %d paths there that it may not change, among them [%s]: %s. Nothing of what it did was taken over.",
		len(outside), printable.Name(outside[0].Path), printable.Text(outside[0].Reason)).
		With("refused_by", string(cause.Code()))
}

// mergedResult is a refusal that has the fields of a result too.
func mergedResult(result any, r *refusal.Refusal, class string) (hooks.Result, error) {
	all := map[string]json.RawMessage{}
	for _, part := range []any{result, r.Object(class)} {
		fields, err := hooks.EncodeJSON(part)
		if err == nil {
			err = json.Unmarshal(fields, &all)
		}
		if err != nil {
			return hooks.Result{}, err
		}
	}
	whole, err := hooks.EncodeJSON(all)
	return hooks.Result{Text: string(whole), Structured: whole, IsError: true, Refusal: r}, err
}
