package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// ToolName is the call that records of undos carry.
const ToolName = "undo"

// Tool carries one plan out. It takes no arguments but the intent_id that the record is made under: what it does was
// decided, and shown to the operator, before. It is for an engine whose gate is an operator's.
type Tool struct {
	files   *workspace.Workspace
	largest int64
	plan    *Plan
	// outcome is what was done.
	outcome *hooks.Outcome
}

// NewTool makes the tool for a plan.
func NewTool(s Source, p *Plan) *Tool { return &Tool{files: s.Files, largest: s.Largest, plan: p} }

// Outcome is what was done, nil before it was.
func (t *Tool) Outcome() *hooks.Outcome { return t.outcome }

// Spec implements hooks.Tool.
func (t *Tool) Spec() hooks.Spec {
	return hooks.Spec{Name: ToolName, Title: "Take recorded changes back", Class: hooks.Destructive, InputSchema: hooks.SchemaText(`{"type":"object"}`)}
}

// Decode implements hooks.Tool.
func (t *Tool) Decode(hooks.Arguments) (hooks.Decoded, error) { return t, nil }

// Targets implements hooks.Decoded.
func (t *Tool) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	if !t.plan.Ready() {
		return nil, refusal.New(refusal.InvalidArguments, "The plan has conflicts, or nothing to do.")
	}
	c := &call{tool: t}
	for i := range t.plan.Files {
		c.add(&t.plan.Files[i])
	}
	return c, nil
}

// call is a plan on its way.
type call struct {
	tool    *Tool
	effects []*hooks.FileEffect
	changes []workspace.Change
}

var (
	_ hooks.Targeted = (*call)(nil)
	_ hooks.Planned  = (*call)(nil)
)

// add resolves the paths of one change and holds them.
func (c *call) add(f *File) {
	effect := &hooks.FileEffect{Change: change.Change{Op: f.Op, Path: f.Path, From: f.From}, Requested: f.Path}
	write := workspace.Change{Op: f.Op, Before: f.Before.Hash, After: f.After.Bytes}
	if perm, known := f.After.Mode.FileMode(); known && f.After.Mode != f.Before.Mode {
		write.Mode = &perm
	}
	write.Target = c.resolve(effect, f.Path)
	if f.Op == change.Moved {
		write.Target, write.To = c.resolve(effect, f.From), write.Target
		if !f.rewritten() {
			write.After = nil // the very file is renamed
		}
	}
	effect.Exists = f.Op != change.Created
	c.effects, c.changes = append(c.effects, effect), append(c.changes, write)
}

func (c *call) resolve(effect *hooks.FileEffect, path string) *workspace.Target {
	target, err := c.tool.files.Resolve(path)
	switch {
	case err != nil:
		effect.Problem = refusal.AtPath(refusal.PathOutsideWorkspace, path, "The path %q cannot be used: %v.", path, err)
		return nil
	case target.Path() != path:
		effect.Problem = refusal.AtPath(refusal.Busy, path, "The path %q leads elsewhere by now. Nothing was changed.", path)
	}
	effect.Protection = max(effect.Protection, target.Protection())
	return target
}

func (c *call) Effects() hooks.Effects { return hooks.Effects{Files: c.effects} }

func (c *call) Close() error {
	for _, write := range c.changes {
		for _, target := range []*workspace.Target{write.Target, write.To} {
			if target != nil {
				target.Close()
			}
		}
	}
	return nil
}

// Plan reads the files again: what was shown must still be what is done.
func (c *call) Plan(context.Context) (hooks.Planned, error) {
	for i, f := range c.tool.plan.Files {
		effect, write := c.effects[i], c.changes[i]
		if f.Op != change.Created {
			content, err := write.Target.Read(c.tool.largest)
			if err != nil {
				return nil, changedSince(effect.Source(), err)
			}
			if content.Hash != f.Before.Hash || write.Mode != nil && change.ModeOf(content.Info.Mode()) != f.Before.Mode {
				return nil, changedSince(effect.Source(), nil)
			}
		}
		effect.Before, effect.After = f.Before, f.After
		effect.Hunks = hooks.HunksOf(f.Before.Bytes, f.After.Bytes)
	}
	return c, nil
}

func changedSince(path string, err error) *refusal.Refusal {
	why := "it has changed"
	if err != nil {
		why = err.Error()
	}
	return refusal.AtPath(refusal.StaleFile, path, "%s is not what the plan began from (%s). Nothing was changed.", path, why).
		Suggest("Run the undo again: it is worked out anew.")
}

func (c *call) Prepare(ctx context.Context) (hooks.Prepared, error) {
	prepared, err := c.tool.files.Prepare(ctx, c.changes)
	if err != nil {
		return nil, refused(err)
	}
	outcome := &hooks.Outcome{Record: &hooks.Note{
		Kind: string(record.KindMutation), Detail: c.tool.plan.detail(),
	}}
	for i, f := range c.tool.plan.Files {
		f.Hunks = c.effects[i].Hunks
		outcome.Files = append(outcome.Files, hooks.FileOutcome{Change: f.Change, InScope: true})
	}
	return &pending{prepared, outcome}, nil
}

// detail names the records that a plan takes back, and those of which it leaves files as they are.
func (p *Plan) detail() map[string]any {
	var records, part []string
	for _, id := range p.Records {
		leaves := slices.ContainsFunc(p.Left, func(c Conflict) bool { return slices.Contains(c.records, id) })
		takes := slices.ContainsFunc(p.Files, func(f File) bool { return slices.Contains(f.Records, id) })
		if takes || !leaves {
			records = append(records, id)
		}
		if takes && leaves {
			part = append(part, id)
		}
	}
	detail := map[string]any{brief.Undoes: records}
	if len(part) > 0 {
		detail[brief.UndoesInPart] = part
	}
	return detail
}

func (c *call) Result(o *hooks.Outcome) (hooks.Result, error) {
	c.tool.outcome = o
	text := fmt.Sprintf("undone: %d records in %d files\n[record: %s]", len(c.tool.plan.Records), len(o.Files), o.RecordID)
	return hooks.NewResult(text, map[string]any{"record_id": o.RecordID})
}

// refused explains why nothing was changed, or what was.
func refused(err error) error {
	var half *workspace.RollbackError
	var at *workspace.PathError
	var stale *workspace.StaleError
	switch {
	case errors.As(err, &half):
		return errors.Join(refusal.Newf(refusal.InternalError, "The undo failed, and what was done of it could not be taken back: %v.", err).
			With("changed", true).With("paths", half.Paths), half)
	case errors.As(err, &stale):
		return changedSince(stale.Path, nil)
	case errors.As(err, &at) && (errors.Is(err, workspace.ErrExists) || errors.Is(err, workspace.ErrNotExist)):
		return changedSince(at.Path, at.Err)
	case errors.Is(err, workspace.ErrBusy), errors.Is(err, workspace.ErrChangedDir):
		return refusal.Newf(refusal.Busy, "Another writer holds a file: %v. Nothing was changed.", err)
	case errors.Is(err, context.Canceled):
		return refusal.New(refusal.Cancelled, "The undo was cancelled; nothing was changed.")
	}
	return fmt.Errorf("nothing was changed: %w", err)
}

// pending is the undo one step before its effect.
type pending struct {
	prepared *workspace.Prepared
	outcome  *hooks.Outcome
}

func (p *pending) Pending() *hooks.Pending {
	return &hooks.Pending{Outcome: p.outcome, Files: p.prepared.Plan()}
}

func (p *pending) Commit(ctx context.Context) (*hooks.Outcome, error) {
	settlement, err := p.prepared.Commit(ctx)
	if err != nil {
		return nil, refused(err)
	}
	for _, f := range settlement.Files() {
		p.outcome.Warnings = append(p.outcome.Warnings, f.Warnings...)
	}
	p.outcome.Settlement = settlement
	return p.outcome, nil
}

func (p *pending) Discard() error { return p.prepared.Discard() }
