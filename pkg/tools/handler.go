package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

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
func NewHandlerTool(files *Files, h Handler) (hooks.Tool, error) {
	t := &handlerTool{files: files, handler: h}
	if err := t.read(h.Spec.InputSchema.JSON()); err != nil {
		return nil, fmt.Errorf("the input schema of %s: %w", h.Spec.Name, err)
	}
	if result := h.Spec.OutputSchema; result != nil {
		t.handler.Spec.OutputSchema = func() json.RawMessage { return output(result()) }
	}
	return t, nil
}

type handlerTool struct {
	files   *Files
	handler Handler
	whole   *jsonschema.Resolved
	own     *jsonschema.Resolved // as the handler declares it
	names   []string             // of the handler's own arguments
}

// read reads the schema of the handler's own arguments, and adds those of every tool that changes something. What it demands
// besides is listed as it stands, and holds for its own arguments alone: allOf and the like can speak of all that there are.
func (t *handlerTool) read(own json.RawMessage) error {
	if len(own) == 0 {
		own = json.RawMessage(`{"type":"object"}`)
	}
	var s jsonschema.Schema
	listed := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(own, &s), json.Unmarshal(own, &listed)); err != nil {
		return err
	}
	shared, err := schema.Of(reflect.TypeFor[changeArgs](), nil)
	if err != nil {
		return err
	}
	t.names = slices.Collect(maps.Keys(s.Properties))
	all := map[string]json.RawMessage{}
	for name, property := range shared.Schema().Properties {
		all[name] = schema.JSON(property)
	}
	if properties := listed["properties"]; properties != nil {
		if err := json.Unmarshal(properties, &all); err != nil {
			return err
		}
	}
	listed["type"], listed["additionalProperties"], listed["properties"] = json.RawMessage(`"object"`), json.RawMessage("false"), schema.JSON(all)
	encoded := schema.JSON(listed)
	t.handler.Spec.InputSchema = func() json.RawMessage { return encoded }
	if t.own, err = s.Resolve(nil); err != nil {
		return err
	}
	var whole jsonschema.Schema
	names := map[string]json.RawMessage{}
	for _, keyword := range []string{"$defs", "definitions", "additionalProperties", "properties", "type"} {
		if listed[keyword] != nil {
			names[keyword] = listed[keyword]
		}
	}
	if err := json.Unmarshal(schema.JSON(names), &whole); err != nil {
		return err
	}
	t.whole, err = whole.Resolve(nil)
	return err
}

func (t *handlerTool) Spec() hooks.Spec { return t.handler.Spec }

func (t *handlerTool) Decode(args hooks.Arguments) (hooks.Decoded, error) {
	members, err := args.Members()
	if err != nil {
		return nil, invalid(t.handler.Spec.Name, []string{err.Error()})
	}
	c := &handledArgs{tool: t, values: map[string]any{}}
	given, own := map[string]any{}, map[string]jsontext.Value{}
	for name, value := range members {
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			return nil, invalid(t.handler.Spec.Name, []string{name + ": " + err.Error()})
		}
		if v != nil {
			given[name] = v
		}
		if slices.Contains(t.names, name) {
			own[name], c.values[name] = value, v
		}
	}
	err = t.whole.Validate(given)
	if err == nil {
		err = t.own.Validate(c.values)
	}
	if err != nil {
		return nil, invalid(t.handler.Spec.Name, []string{err.Error()})
	}
	c.own, err = json.Marshal(own)
	return c, err
}

// handledArgs are the handler's own arguments.
type handledArgs struct {
	tool   *handlerTool
	own    json.RawMessage
	values map[string]any
}

func (a *handledArgs) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	c := &handled{handledArgs: a}
	if a.tool.handler.Touches == nil {
		return c, nil
	}
	for _, path := range a.tool.handler.Touches(a.values) {
		target, effect := a.tool.files.target(path)
		effect.Knowledge = hooks.KnowsBySearch
		c.targets, c.effects = append(c.targets, target), append(c.effects, effect)
	}
	return c, nil
}

// handled is one call of a handler.
type handled struct {
	*handledArgs
	targets []*workspace.Target
	effects []*hooks.FileEffect
	result  hooks.Result
}

func (c *handled) Effects() hooks.Effects { return hooks.Effects{Files: c.effects} }

func (c *handled) Close() error {
	var errs []error
	for _, t := range c.targets {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

func (c *handled) Plan(context.Context) (hooks.Planned, error) {
	for i, effect := range c.effects {
		content, err := c.read(i)
		if err != nil {
			return nil, err
		}
		effect.Before.Bytes, effect.Before.Hash = content.Bytes, string(content.Hash)
	}
	return c, nil
}

// read reads one of the files; where there is none, nothing.
func (c *handled) read(i int) (*workspace.Content, error) {
	content, err := c.targets[i].Read(c.tool.files.Limit)
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
	result, failed := c.tool.handler.Run(ctx, c.own)
	c.result = result
	outcome := &hooks.Outcome{}
	for i, effect := range c.effects {
		after, err := c.read(i)
		if err != nil {
			return nil, err
		}
		if file := became(effect, after); file.Op != change.Unchanged {
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
	f := hooks.FileOutcome{Change: effect.Change, Knowledge: effect.Knowledge, InScope: true}
	f.After = change.Version{Hash: string(after.Hash), Bytes: after.Bytes}
	if f.Op = change.Between(f.Before.Hash != "", f.After.Hash != ""); f.Before.Hash == f.After.Hash {
		f.Op = change.Unchanged
	}
	f.Hunks = hooks.HunksOf(f.Before.Bytes, f.After.Bytes)
	return f
}
