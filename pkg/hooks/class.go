package hooks

import (
	"bytes"
	"context"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// judged is a verdict with what it is about.
type judged struct {
	files   []mutation.File
	verdict mutation.Verdict
}

// Verdict judges changes of this call. The gate, rules and the record ask for
// the same ones, which are compared once. It is for the call's own goroutine.
func (c *Call) Verdict(ctx context.Context, files []mutation.File) mutation.Verdict {
	if c.judged != nil && slices.EqualFunc(c.judged.files, files, sameFile) {
		return c.judged.verdict
	}
	v := mutation.JudgeAmong(ctx, files, c.otherFiles(), c.limits)
	if ctx.Err() == nil {
		c.judged = &judged{files, v}
	}
	return v
}

// otherFiles are the files of the workspace that this call may read.
func (c *Call) otherFiles() mutation.OtherFiles {
	switch {
	case c.workspace == nil:
		return nil
	case !c.Ignore.Kinds().Secrets:
		return c.workspace.OtherFiles(nil)
	}
	return c.workspace.OtherFiles(func(path string) bool {
		_, secret := c.Ignore.Secret(path)
		return secret
	})
}

func sameFile(x, y mutation.File) bool {
	return x.Path == y.Path && x.From == y.From && (x.Before == nil) == (y.Before == nil) && (x.After == nil) == (y.After == nil) &&
		bytes.Equal(x.Before, y.Before) && bytes.Equal(x.After, y.After)
}

// Planned judges what the call means to change, from AtPlan on. ok is false
// where that is not known yet: a command writes what it writes.
func (c *Call) Planned(ctx context.Context) (v mutation.Verdict, ok bool) {
	switch {
	case c.Effects.Command != nil:
		return mutation.Verdict{}, false
	case c.Known != nil:
		return *c.Known, true
	}
	var files, same []mutation.File
	for _, f := range c.Effects.Files {
		if !f.Mutates() || f.Directory {
			continue
		}
		if f.Unread {
			return mutation.Verdict{Evidence: mutation.Unproven, Reason: f.Path + ": it is too large to be compared"}, true
		}
		if f.Op == change.Modified && f.Before.Hash == f.After.Hash {
			same = append(same, judgedFile(&f.Change)) // no part of the outcome's changes either
			continue
		}
		files = append(files, judgedFile(&f.Change))
	}
	if len(files) == 0 {
		files = same
	}
	return c.Verdict(ctx, files), len(files) > 0
}

func judgedFile(c *change.Change) mutation.File {
	return mutation.File{Path: c.Path, From: c.From, Before: present(c.Before), After: present(c.After)}
}

// present is the content of a file that exists if it has a hash.
func present(v change.Version) []byte {
	switch {
	case v.Hash == "":
		return nil
	case v.Bytes == nil:
		return []byte{}
	}
	return v.Bytes
}

// classify resolves the class of what changed, before the record is drafted.
func (e *Engine) classify(ctx context.Context, call *Call, outcome *Outcome) {
	if outcome.Class.Class != "" {
		return
	}
	outcome.Class = mutation.Resolve(call.Declared, verdictOf(ctx, call, outcome.Changed()))
	if outcome.Class.Warning != "" && !e.QuietClass {
		outcome.Warnings = append(outcome.Warnings, outcome.Class.Warning)
	}
}

func verdictOf(ctx context.Context, call *Call, changed []FileOutcome) mutation.Verdict {
	files := make([]mutation.File, 0, len(changed))
	for _, f := range changed {
		if f.Unread || !hasContent(f.Before) || !hasContent(f.After) {
			return mutation.Verdict{Evidence: mutation.Unproven, Reason: f.Path + ": its content is not known any more"}
		}
		files = append(files, judgedFile(&f.Change))
	}
	return call.Verdict(ctx, files)
}

// hasContent tells whether the content that a hash stands for is there.
func hasContent(v change.Version) bool {
	return v.Hash == "" || v.Bytes != nil || v.Hash == workspace.HashOf(nil)
}
