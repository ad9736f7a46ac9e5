package tools

import (
	"context"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// fileArgs are the arguments of every tool that changes the one file that its path names.
type fileArgs struct {
	filePath
	changeArgs
	previewArg
	ExpectedHash string `json:"expected_content_hash,omitempty" is:"word"`
}

func (a fileArgs) shared() fileArgs { return a }

// editFunc computes the new content of a file. It gets the content as agents are
// shown it, which is empty where the file does not exist.
type editFunc[A any] func(effect *hooks.FileEffect, before string, args A) (after string, notes []string, err error)

// fileTool makes a tool that changes one file. What it says of it with its call is its knowledge.
func fileTool[A interface{ shared() fileArgs }](files *Files, spec hooks.Spec, knowledge hooks.Knowledge, edit editFunc[A]) hooks.Tool {
	spec.Class = hooks.Destructive
	return define[A, written](spec, func(call *hooks.Call, args A) (hooks.Targeted, error) {
		c := &fileCall{files: files, call: call}
		c.change = func(before string) (string, []string, error) { return edit(c.effect, before, args) }
		return c, c.resolve(args.shared(), knowledge)
	}, nil)
}

type fileCall struct {
	onTarget
	files   *Files
	call    *hooks.Call
	change  func(before string) (after string, notes []string, err error)
	preview bool
}

func (c *fileCall) Effects() hooks.Effects {
	e := c.onTarget.Effects()
	e.Preview = c.preview
	return e
}

func (c *fileCall) resolve(args fileArgs, knowledge hooks.Knowledge) error {
	expected := workspace.Hash("")
	if args.ExpectedHash != "" {
		var err error
		if expected, err = workspace.ParseHash(args.ExpectedHash); err != nil {
			return refusal.Newf(refusal.InvalidArguments, "expected_content_hash: %v.", err).
				Suggest("Pass the content_hash that read_file gave, or leave expected_content_hash out.")
		}
	}
	c.target, c.effect = c.files.target(args.Path)
	c.preview = args.Preview
	c.effect.Knowledge, c.effect.ExpectedHash = knowledge, string(expected)
	return nil
}

func (c *fileCall) Plan(context.Context) (hooks.Planned, error) {
	before, err := c.load()
	if err != nil {
		return nil, err
	}
	after, notes, err := c.change(workspace.Shown(before.String))
	if err != nil {
		return nil, err
	}
	if err := c.files.encode(c.effect, before, after); err != nil {
		return nil, err
	}
	planned := &changes{Files: c.files, call: c.call, notes: notes, render: renderOne}
	planned.add(c.effect, workspace.Change{Op: c.effect.Op, Target: c.target, After: c.effect.After.Bytes})
	if c.preview {
		return &preview{planned, func(diff string, warnings []string) any {
			f := outcomeOf(c.effect)
			return written{Path: f.Path, Operation: f.Op, ContentHash: f.After.Hash, Warnings: warnings, Diff: diff, previewed: previewed{true}}
		}}, nil
	}
	return planned, nil
}

// load reads the file as it is now. It may have come or gone since its kind
// was looked at; what is read now is what the swap will be held to.
func (c *fileCall) load() (workspace.Text, error) {
	if c.effect.Knowledge == hooks.KnowsBySearch {
		c.effect.Op = change.Modified
		return c.files.loadText(c.target, c.effect)
	}
	text, err := c.files.load(c.target, c.effect)
	if r, ok := refusal.As(err); ok && r.Code() == refusal.FileNotFound {
		c.effect.Op = change.Created
		return workspace.Text{}, nil
	}
	if err == nil || errors.Is(err, workspace.ErrBinary) {
		c.effect.Op = change.Modified
		return text, nil
	}
	return text, err
}
