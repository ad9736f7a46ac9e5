package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// expectedHelp describes expected_content_hash.
const expectedHelp = "sha256:… of the whole file as you last saw it; the call is refused if the file is anything else."

// fileTool is a tool that changes the one file that its path names.
type fileTool[A fileArguments] struct {
	deps *Deps
	spec hooks.Spec
	args *arguments
	// plan computes the new content. It gets the content as agents are shown it,
	// which is empty where the file does not exist.
	plan      func(effect *hooks.FileEffect, before string, args A) (after string, notes []string, err error)
	knowledge hooks.Knowledge
}

// fileArguments is what every such tool's arguments hold.
type fileArguments interface {
	place() (string, error)
	expected() string
}

type fileArgs struct {
	located
	hooks.Common
	ExpectedContentHash string `json:"expected_content_hash"`
}

func (a fileArgs) place() (string, error) { return a.path() }
func (a fileArgs) expected() string       { return a.ExpectedContentHash }

func (t *fileTool[A]) Spec() hooks.Spec { return t.spec }

func (t *fileTool[A]) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	c := &fileCall[A]{tool: t, call: call}
	if err := t.args.decode(raw, &c.args); err != nil {
		return nil, err
	}
	requested, err := c.args.place()
	if err != nil {
		return nil, err
	}
	c.target, c.effect = t.deps.target(requested)
	c.effect.Knowledge = t.knowledge
	if hash := c.args.expected(); hash != "" {
		parsed, err := workspace.ParseHash(hash)
		if err != nil {
			c.Close()
			return nil, refusal.Newf(refusal.InvalidArguments, "expected_content_hash: %v.", err).
				Suggest("Pass the content_hash that read_file gave, or leave expected_content_hash out.")
		}
		c.effect.ExpectedHash = string(parsed)
	}
	return c, nil
}

type fileCall[A fileArguments] struct {
	tool   *fileTool[A]
	call   *hooks.Call
	args   A
	target *workspace.Target
	effect *hooks.FileEffect
}

func (c *fileCall[A]) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{c.effect}}
}

func (c *fileCall[A]) Close() error {
	if c.target == nil {
		return nil
	}
	return c.target.Close()
}

func (c *fileCall[A]) Plan(context.Context) (hooks.Planned, error) {
	before, err := c.load()
	if err != nil {
		return nil, err
	}
	written, notes, err := c.tool.plan(c.effect, workspace.Shown(before.String), c.args)
	if err != nil {
		return nil, err
	}
	after, encoded, err := c.tool.deps.encode(c.effect, before, written)
	if err != nil {
		return nil, err
	}
	setAfter(c.effect, before, after, encoded)
	planned := &changes{deps: c.tool.deps, call: c.call, notes: notes, render: renderOne}
	op := workspace.Create
	if c.effect.Kind == hooks.Modify {
		op = workspace.Modify
	}
	planned.add(c.effect, workspace.Change{Op: op, Target: c.target, After: encoded})
	return planned, nil
}

// load reads the file as it is now. It may have come or gone since its kind
// was looked at; what is read now is what the swap will be held to.
func (c *fileCall[A]) load() (workspace.Text, error) {
	if c.tool.knowledge == hooks.KnowsBySearch {
		c.effect.Kind = hooks.Modify
		return c.tool.deps.loadText(c.target, c.effect)
	}
	text, err := c.tool.deps.load(c.target, c.effect)
	if r, ok := refusal.As(err); ok && r.Code() == refusal.FileNotFound {
		c.effect.Kind = hooks.Create
		return workspace.Text{}, nil
	}
	if err == nil || errors.Is(err, workspace.ErrBinary) {
		c.effect.Kind = hooks.Modify
		return text, nil
	}
	return text, err
}
