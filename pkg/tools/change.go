package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// target resolves a path. A path that cannot be used becomes the effect's
// problem, to be reported at its own step of the gate.
func (f *Files) target(requested string) (*workspace.Target, *hooks.FileEffect) {
	effect := &hooks.FileEffect{Change: change.Change{Op: change.Created, Path: requested}, Requested: requested}
	t, err := f.Workspace.Resolve(requested)
	if err != nil {
		effect.Problem = pathProblem(requested, err)
		return nil, effect
	}
	effect.Path, effect.Protection, effect.GitParts = t.Path(), t.Protection(), t.GitParts()
	switch t.Kind() {
	case workspace.Missing:
	case workspace.Regular:
		effect.Op, effect.Exists = change.Modified, true
	default:
		effect.Problem = refusal.AtPath(refusal.NotARegularFile, t.Path(), "%s is not a regular file but a %s.", t.Path(), t.Kind())
		if t.Kind() == workspace.Directory {
			effect.Problem = effect.Problem.Suggest("Name a file; list_files shows what is in the directory.")
		}
	}
	return t, effect
}

func pathProblem(requested string, err error) *refusal.Refusal {
	code := refusal.InternalError
	switch {
	case errors.Is(err, workspace.ErrOutside), errors.Is(err, workspace.ErrInvalidPath):
		code = refusal.PathOutsideWorkspace
	case errors.Is(err, workspace.ErrNotRegular):
		code = refusal.NotARegularFile
	case errors.Is(err, workspace.ErrNotExist): // through a link that leads nowhere
		code = refusal.FileNotFound
	case errors.Is(err, workspace.ErrChangedDir), errors.Is(err, workspace.ErrBusy):
		code = refusal.Busy
	}
	return refusal.AtPath(code, strings.ToValidUTF8(clip(requested, 300), "\uFFFD"), "The path %q cannot be used: %v.", clip(requested, 300), err)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// load reads a target's content into its effect.
func (f *Files) load(t *workspace.Target, effect *hooks.FileEffect) (workspace.Text, error) {
	content, err := t.Read(f.Limit)
	effect.Exists = !errors.Is(err, workspace.ErrNotExist)
	if err != nil {
		return workspace.Text{}, readProblem(effect.Source(), err)
	}
	effect.Before.Bytes, effect.Before.Hash = content.Bytes, string(content.Hash)
	return workspace.Decode(content.Bytes)
}

func readProblem(path string, err error) error {
	switch {
	case errors.Is(err, workspace.ErrNotExist):
		return refusal.AtPath(refusal.FileNotFound, path, "%s does not exist.", path)
	case errors.Is(err, workspace.ErrNotRegular):
		return refusal.AtPath(refusal.NotARegularFile, path, "%s is not a regular file.", path)
	case errors.Is(err, workspace.ErrBusy):
		return refusal.AtPath(refusal.Busy, path, "%v.", err)
	case errors.Is(err, workspace.ErrTooLarge):
		return refusal.AtPath(refusal.TooLarge, path, "%s is larger than the limit for files (limits.file_size).", path).
			Suggest("Look at it and change it with execute_command, or ask the user to raise limits.file_size.")
	}
	return fmt.Errorf("reading %s: %w", path, err)
}

// loadText is load for tools that edit text.
func (f *Files) loadText(t *workspace.Target, effect *hooks.FileEffect) (workspace.Text, error) {
	text, err := f.load(t, effect)
	if errors.Is(err, workspace.ErrBinary) {
		err = refusal.AtPath(refusal.DiffNotApplied, effect.Source(), "%s is binary; it can only be written whole.", effect.Source()).
			WithHint(refusal.HintFixArguments).Suggest("Make it anew with execute_command, or choose another file.")
	}
	return text, err
}

// setAfter puts the new content into an effect and computes its hunks.
func setAfter(effect *hooks.FileEffect, before workspace.Text, text string, encoded []byte) {
	effect.After.Bytes = encoded
	effect.After.Hash = string(workspace.HashOf(encoded))
	effect.Hunks = edit.Hunks(before.String, text)
}

// changes is a planned set of file changes that take effect together. It is the Planned of every tool that changes files.
type changes struct {
	*Files
	call    *hooks.Call
	effects []*hooks.FileEffect
	files   []workspace.Change
	shapes  []workspace.Shape // of links and directories
	about   map[string]any    // what the record says beside
	byAgent bool              // an agent made it, whoever takes it over
	// built is what was built, and then puts it in place, when the changes have taken effect.
	built []hooks.FileOutcome
	then  func(ctx context.Context) (warnings []string)
	notes []string
	// record makes another kind of record of it, and class says what it is where it is not to be judged.
	record *hooks.Note
	class  mutation.Resolved
	render func(o *hooks.Outcome) (hooks.Result, error)
}

// add plans one change. A change to the very same bytes is not carried out but reported as unchanged.
func (c *changes) add(effect *hooks.FileEffect, write workspace.Change) {
	c.effects = append(c.effects, effect)
	write.Before = effect.Before.Hash
	if effect.Op == change.Modified && effect.Before.Hash == effect.After.Hash && effect.Before.Mode == effect.After.Mode {
		return
	}
	c.files = append(c.files, write)
}

func (c *changes) Prepare(ctx context.Context) (hooks.Prepared, error) {
	prepared, err := c.attempt(ctx)
	if err != nil {
		return nil, c.refuse(err)
	}
	return prepared, nil
}

// attempt is Prepare with the workspace's own errors.
func (c *changes) attempt(ctx context.Context) (hooks.Prepared, error) {
	outcome := &hooks.Outcome{Warnings: c.notes, Record: c.record, Class: c.class, About: c.about, Build: c.built, ByAgent: c.byAgent}
	for _, effect := range c.effects {
		outcome.Files = append(outcome.Files, outcomeOf(effect))
	}
	if len(c.files)+len(c.shapes) == 0 {
		return hooks.Immediate(func(ctx context.Context) (*hooks.Outcome, error) { c.finish(ctx, outcome); return outcome, nil }), nil
	}
	files, err := c.Workspace.PrepareWith(ctx, c.files, c.shapes)
	if err != nil {
		return nil, err
	}
	return &preparedChanges{c, files, outcome}, nil
}

// preparedChanges are written and locked, and not visible yet.
type preparedChanges struct {
	changes *changes
	files   *workspace.Prepared
	outcome *hooks.Outcome
}

func (p *preparedChanges) Pending() *hooks.Pending {
	return &hooks.Pending{Outcome: p.outcome, Files: p.files.Plan()}
}

func (p *preparedChanges) Commit(ctx context.Context) (*hooks.Outcome, error) {
	settlement, err := p.files.Commit(ctx)
	if err != nil {
		return nil, p.changes.refuse(err)
	}
	for _, f := range settlement.Files() {
		p.outcome.Warnings = append(p.outcome.Warnings, f.Warnings...)
	}
	if problem := p.changes.becameRepository(); problem != nil {
		return nil, errors.Join(problem, settlement.Rollback(context.WithoutCancel(ctx)), settlement.Close())
	}
	p.outcome.Settlement = settlement
	p.changes.finish(ctx, p.outcome)
	return p.outcome, nil
}

// finish is what follows when the changes have taken effect. What has no file that a record could name is told by one all the same.
func (c *changes) finish(ctx context.Context, o *hooks.Outcome) {
	if c.then != nil {
		o.Warnings = append(o.Warnings, c.then(context.WithoutCancel(ctx))...)
	}
	if c.about != nil && o.Record == nil && len(o.Changed()) == 0 {
		o.Record = &hooks.Note{Kind: string(record.KindMutation)}
	}
}

// becameRepository refuses what, with changes of other calls of this moment, has made a directory one that git takes for a
// repository: each call alone was judged before the others took effect.
func (c *changes) becameRepository() error {
	var planned, now []workspace.GitPart
	for _, effect := range c.effects {
		planned = append(planned, effect.GitParts...)
		for _, path := range effect.Paths() {
			if len(effect.GitParts) == 0 {
				continue
			}
			if t, err := c.Workspace.Resolve(path); err == nil {
				now = append(now, t.GitParts()...)
				t.Close()
			}
		}
	}
	judged := workspace.Repositories(planned)
	for _, dir := range workspace.Repositories(now) {
		if !slices.Contains(judged, dir) {
			return refusal.Newf(refusal.Busy, "With what another call wrote at the same moment, git would take %q for a repository, whose configuration it obeys. Nothing was changed.", dir)
		}
	}
	return nil
}

func (p *preparedChanges) Discard() error { return p.files.Discard() }

func (c *changes) Result(o *hooks.Outcome) (hooks.Result, error) { return c.render(o) }

func outcomeOf(effect *hooks.FileEffect) hooks.FileOutcome {
	o := hooks.FileOutcome{Change: effect.Change, Knowledge: effect.Knowledge, InScope: true, Unread: effect.Unread}
	if effect.Op == change.Modified && effect.Before.Hash == effect.After.Hash && effect.Before.Mode == effect.After.Mode {
		o.Op = change.Unchanged
	}
	return o
}

// refuse explains why a commit did not happen. Nothing was changed, but for what a RollbackError names.
func (c *changes) refuse(err error) error {
	if half, is := errors.AsType[*workspace.RollbackError](err); is {
		return errors.Join(refusal.Newf(refusal.InternalError, "The change failed, and what was done of it could not be taken back: %v.", err).
			With("changed", true).With("paths", half.Paths), half)
	}
	if stale, is := errors.AsType[*workspace.StaleError](err); is {
		return c.Fresh.Refuse(c.call, stale.Path, string(stale.Want), string(stale.Have), stale.Content)
	}
	switch {
	case errors.Is(err, workspace.ErrExists):
		return c.appeared(err)
	case errors.Is(err, workspace.ErrNotExist):
		return refusal.Newf(refusal.StaleFile, "A file that this call wanted to change is gone: %v.", err).
			Suggest("Call list_files to see what is there, then make the change for the file that is.")
	case errors.Is(err, workspace.ErrConflict):
		return refusal.Newf(refusal.InvalidArguments, "Two parts of this call want the same path: %v. Nothing was changed.", err)
	case errors.Is(err, workspace.ErrNotRegular):
		return refusal.Newf(refusal.NotARegularFile, "A path of this call is no regular file any more: %v. Nothing was changed.", err)
	case errors.Is(err, workspace.ErrChangedDir):
		return refusal.Newf(refusal.Busy, "%v. Nothing was changed.", err)
	case errors.Is(err, workspace.ErrBusy):
		return refusal.Newf(refusal.Busy, "A file of this call is not available now: %v. Nothing was changed.", err)
	case errors.Is(err, context.Canceled):
		return refusal.New(refusal.Cancelled, "The call was cancelled; nothing was changed.")
	}
	return fmt.Errorf("nothing was changed: %w", err)
}

// appeared refuses with the file that appeared where the call wanted to create one.
func (c *changes) appeared(err error) error {
	r := refusal.Newf(refusal.StaleFile, "A file appeared where this call wanted to create one: %v. Nothing was changed.", err)
	at, is := errors.AsType[*workspace.PathError](err)
	if !is {
		return r
	}
	path, content := c.readNow(at.Path)
	if content == nil {
		return r
	}
	return c.Fresh.Refuse(c.call, path, "", string(content.Hash), content.Bytes)
}

// written is the structured result of the tools that change one file.
type written struct {
	Path          string    `json:"path" doc:"Workspace-relative."`
	Operation     change.Op `json:"operation" enum:"created,modified,deleted,moved,unchanged" doc:"What became of the file."`
	ContentHash   string    `json:"content_hash" doc:"sha256 of the raw bytes now on disk; it counts as seen."`
	RecordID      string    `json:"record_id" doc:"The ledger record, empty if nothing changed."`
	MutationClass string    `json:"mutation_class" doc:"As recorded."`
	Warnings      []string  `json:"warnings" doc:"What was repaired, matched loosely, or failed behind the change."`
	Diff          string    `json:"diff,omitempty" doc:"The change as a unified diff, where it is short."`
	previewed
	editedByOperator
}

// editedByOperator is the member of a result that tells of the operator's edit of the call.
type editedByOperator struct {
	Edited *hooks.Difference `json:"edited_by_operator,omitempty" doc:"What the operator changed in your call."`
}

// editedText is the same in a result's text.
func editedText(o *hooks.Outcome) string {
	d := o.Edited
	switch {
	case d == nil:
		return ""
	case d.Diff == "" && d.Complete:
		return fmt.Sprintf("\n[approved by the operator as you asked: %s]", d.ApprovalID)
	}
	text := fmt.Sprintf("\nThe operator has edited your call before approving it (%s). From what you asked for to what was made:\n%s", d.ApprovalID, d.Diff)
	if !d.Complete {
		text += "\n[not all of it is shown: read the file]"
	}
	return text
}

// renderOne renders the outcome of a change of one file.
func renderOne(o *hooks.Outcome) (hooks.Result, error) {
	f := o.Files[0]
	w := written{Path: f.Path, Operation: f.Op, ContentHash: f.After.Hash, RecordID: o.RecordID,
		MutationClass: string(o.Class.Class), Warnings: append([]string{}, o.Warnings...), Diff: shortDiff(f), editedByOperator: editedByOperator{o.Edited}}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n[content_hash: %s]", f.Path, f.Op, f.After.Hash)
	if o.RecordID != "" {
		fmt.Fprintf(&b, "\n[record: %s, %s]", o.RecordID, w.MutationClass)
	}
	b.WriteString(editedText(o) + warned(w.Warnings))
	if w.Diff != "" {
		b.WriteString("\n\n" + w.Diff)
	}
	return hooks.NewResult(b.String(), w)
}

// shortDiff shows an edit back to the agent when it is worth its tokens; a created file is what the agent itself just sent.
func shortDiff(f hooks.FileOutcome) string {
	was, is, ok := hooks.Texts(f.Before.Bytes, f.After.Bytes)
	if f.Op != change.Modified || !ok {
		return ""
	}
	diff := workspace.Shown(edit.UnifiedHunks(f.Path, f.Path, was, is, f.Hunks, 3))
	if len(diff) > 8<<10 {
		return ""
	}
	return diff
}
