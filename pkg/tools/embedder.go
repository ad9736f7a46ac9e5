package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// NewFileTool makes a tool that changes one text file, which exists: change computes the new content from the present one
// and the tool's own arguments. All else is that of edit_file: targets, encoding and line ends, journal, swap, record,
// result. The input schema of spec is that of the own arguments; path, session and the like are added to it. An error of
// change that is no *refusal.Refusal refuses with INVALID_ARGUMENTS.
func NewFileTool[A any](d *Deps, spec hooks.Spec, change func(before string, args A) (after string, err error)) (hooks.Tool, error) {
	required, properties, err := ownSchema(spec.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("the input schema of %s: %w", spec.Name, err)
	}
	properties["expected_content_hash"] = text(expectedHelp)
	spec.InputSchema, spec.OutputSchema, spec.Class = pathInput(required, properties), output(writtenSchema()), hooks.Destructive
	return &fileTool[ownArgs[A]]{
		deps: d, spec: spec, args: &arguments{name: spec.Name, source: spec.InputSchema}, knowledge: hooks.KnowsBySearch,
		plan: func(_ *hooks.FileEffect, before string, a ownArgs[A]) (string, []string, error) {
			after, err := change(before, a.own)
			if _, refused := refusal.As(err); err != nil && !refused {
				err = refusal.Newf(refusal.InvalidArguments, "%s: %v. Nothing was changed.", spec.Name, err)
			}
			return after, nil, err
		},
	}, nil
}

// ownSchema takes a schema of arguments apart.
func ownSchema(raw json.RawMessage) (required []string, properties schema, err error) {
	var own struct {
		Required   []string `json:"required"`
		Properties schema   `json:"properties"`
	}
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &own)
	}
	if own.Properties == nil {
		own.Properties = schema{}
	}
	return own.Required, own.Properties, err
}

// ownArgs are the arguments of every file tool, and those of one that an embedder wrote.
type ownArgs[A any] struct {
	fileArgs
	own A
}

// UnmarshalJSON implements json.Unmarshaler. The schema has refused what neither side knows.
func (a *ownArgs[A]) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &a.fileArgs); err != nil {
		return err
	}
	return json.Unmarshal(raw, &a.own)
}

// Handler is what an existing handler does for one call.
type Handler struct {
	Spec hooks.Spec // its input schema is that of the handler's own arguments
	// Touches names the files that a call changes, by their paths as the arguments give them; nil: none.
	Touches func(arguments map[string]any) []string
	// Run makes the call. The arguments are its own alone. An error is a failure of the call.
	Run func(ctx context.Context, arguments json.RawMessage) (hooks.Result, error)
}

// NewHandlerTool governs a handler that does its work by itself: the gate judges the files that Touches names before it
// runs, and what became of them is recorded after it. The change is not in the journal: a server that is killed in between
// leaves it without a record, and the next record of the file says external_before. What it changes besides is not known.
func NewHandlerTool(d *Deps, h Handler) (hooks.Tool, error) {
	required, properties, err := ownSchema(h.Spec.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("the input schema of %s: %w", h.Spec.Name, err)
	}
	t := &handlerTool{deps: d, handler: h, own: slices.Collect(maps.Keys(properties))}
	t.handler.Spec.InputSchema = mutatingInput(required, properties)
	if own := h.Spec.OutputSchema; len(own) > 0 {
		t.handler.Spec.OutputSchema = encode(schema{"type": "object", "anyOf": []any{own, refusalSchema()}})
	}
	t.args = &arguments{name: h.Spec.Name, source: t.handler.Spec.InputSchema}
	return t, nil
}

type handlerTool struct {
	deps    *Deps
	handler Handler
	own     []string // the names of the handler's own arguments
	args    *arguments
}

func (t *handlerTool) Spec() hooks.Spec { return t.handler.Spec }

func (t *handlerTool) Targets(_ context.Context, _ *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	all := map[string]json.RawMessage{}
	if err := t.args.decode(raw, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !slices.Contains(t.own, name) })
	own, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	c := &handled{tool: t, arguments: own}
	if t.handler.Touches == nil {
		return c, nil
	}
	var arguments map[string]any
	if err := json.Unmarshal(own, &arguments); err != nil {
		return nil, err
	}
	for _, path := range t.handler.Touches(arguments) {
		target, effect := t.deps.target(path)
		effect.Knowledge = hooks.KnowsBySearch
		c.targets, c.effects = append(c.targets, target), append(c.effects, effect)
	}
	return c, nil
}

// handled is one call of a handler.
type handled struct {
	tool      *handlerTool
	arguments json.RawMessage
	targets   []*workspace.Target
	effects   []*hooks.FileEffect
	result    hooks.Result
}

func (c *handled) Effects() hooks.Effects { return hooks.Effects{Files: c.effects} }

func (c *handled) Close() error {
	var errs []error
	for _, t := range c.targets {
		if t != nil {
			errs = append(errs, t.Close())
		}
	}
	return errors.Join(errs...)
}

func (c *handled) Plan(context.Context) (hooks.Planned, error) {
	for i, effect := range c.effects {
		content, err := c.read(i)
		if err != nil {
			return nil, err
		}
		effect.Before, effect.BeforeHash = content.Bytes, string(content.Hash)
	}
	return c, nil
}

// read reads one of the files; where there is none, nothing.
func (c *handled) read(i int) (*workspace.Content, error) {
	content, err := c.targets[i].Read(c.tool.deps.FileLimit)
	if errors.Is(err, workspace.ErrNotExist) {
		return &workspace.Content{}, nil
	}
	if err != nil {
		return nil, readProblem(c.effects[i].Path, err)
	}
	return content, nil
}

func (c *handled) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(c.run), nil
}

func (c *handled) Result(*hooks.Outcome) (hooks.Result, error) { return c.result, nil }

// run records what became of the files also where the handler failed: it may have changed some.
func (c *handled) run(ctx context.Context) (*hooks.Outcome, error) {
	result, failed := c.tool.handler.Run(ctx, c.arguments)
	c.result = result
	outcome := &hooks.Outcome{}
	for i, effect := range c.effects {
		after, err := c.read(i)
		if err != nil {
			return nil, err
		}
		if file := became(effect, after); file.Op != hooks.Unchanged {
			outcome.Files = append(outcome.Files, file)
		}
	}
	if failed == nil {
		return outcome, nil
	}
	if len(outcome.Files) == 0 {
		return nil, refusal.Newf(refusal.InvalidArguments, "%s failed: %v.", c.tool.handler.Spec.Name, failed).
			Suggest("Mend the arguments; if they are right, tell the user.")
	}
	c.result = hooks.Result{Text: fmt.Sprintf("%s failed: %v. It had changed files by then; they are in the ledger.", c.tool.handler.Spec.Name, failed), IsError: true}
	return outcome, nil
}

func became(effect *hooks.FileEffect, after *workspace.Content) hooks.FileOutcome {
	f := hooks.FileOutcome{
		Path: effect.Path, Op: hooks.Modified, BeforeHash: effect.BeforeHash, AfterHash: string(after.Hash),
		Before: effect.Before, After: after.Bytes, Knowledge: effect.Knowledge, InScope: true,
	}
	switch {
	case f.BeforeHash == f.AfterHash:
		f.Op = hooks.Unchanged
	case f.BeforeHash == "":
		f.Op = hooks.Created
	case f.AfterHash == "":
		f.Op = hooks.Deleted
	}
	before, errBefore := workspace.Decode(f.Before)
	text, errAfter := workspace.Decode(f.After)
	if errBefore == nil && errAfter == nil {
		f.Hunks = edit.Hunks(before.String, text.String)
	}
	return f
}
