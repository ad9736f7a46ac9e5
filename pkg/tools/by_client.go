package tools

import (
	"context"
	"errors"
	"maps"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// ByClient is a tool whose calls a client makes by itself, with a tool of its own: the call is decoded, targeted, planned and
// judged as the tool's own is, and where that would be executed, passed is called with its effects. The engine records
// nothing of it: that is for Made, when the client has done it.
func ByClient(t hooks.Tool, passed func(*hooks.Call, hooks.Effects) error) hooks.Tool {
	return &clientTool{t, passed}
}

type clientTool struct {
	hooks.Tool
	passed func(*hooks.Call, hooks.Effects) error
}

func (t *clientTool) Decode(args hooks.Arguments) (hooks.Decoded, error) {
	decoded, err := t.Tool.Decode(args)
	return &clientCall{Decoded: decoded, tool: t}, err
}

type clientCall struct {
	hooks.Decoded
	hooks.Targeted
	tool *clientTool
	call *hooks.Call
}

func (c *clientCall) Targets(ctx context.Context, call *hooks.Call) (hooks.Targeted, error) {
	targeted, err := c.Decoded.Targets(ctx, call)
	return &clientCall{Targeted: targeted, tool: c.tool, call: call}, err
}

func (c *clientCall) Plan(ctx context.Context) (hooks.Planned, error) {
	_, err := c.Targeted.Plan(ctx)
	return c, err
}

func (c *clientCall) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(func(context.Context) (*hooks.Outcome, error) {
		return &hooks.Outcome{Continued: true}, c.tool.passed(c.call, c.Effects())
	}), nil
}

func (c *clientCall) Result(*hooks.Outcome) (hooks.Result, error) { return hooks.Result{}, nil }

// ClientFiles are the tools of clients for files, by what they are called here: those of this server, and what only clients have.
func ClientFiles(files *Files) map[string]hooks.Tool {
	tools := map[string]hooks.Tool{}
	for _, t := range []hooks.Tool{
		readFile(files), listFiles(files), writeToFile(files), editFile(files, "edit_file"), applyPatch(files), clientEdits(files),
	} {
		tools[t.Spec().Name] = t
	}
	return tools
}

type editsArgs struct {
	fileArgs
	Edits []oneEdit `json:"edits" doc:"One after the other."`
}

type oneEdit struct {
	OldString  string `json:"old_string" doc:"The exact text then in the file."`
	NewString  string `json:"new_string" doc:"The text to put there."`
	ReplaceAll bool   `json:"replace_all,omitempty" doc:"Replace every occurrence."`
}

// clientEdits is edit_file for several replacements in one call.
func clientEdits(files *Files) hooks.Tool {
	return fileTool(files, hooks.Spec{Name: "edits"}, hooks.KnowsBySearch, func(effect *hooks.FileEffect, text string, a editsArgs) (string, []string, error) {
		var notes []string
		for _, one := range a.Edits {
			result, err := edit.Replace(text, one.OldString, one.NewString, 1, one.ReplaceAll)
			if err != nil {
				return "", nil, replaceAdvice.refuse(effect.Path, effect.Before.Hash, err)
			}
			text, notes = result.Text, append(notes, result.Notes...)
		}
		return text, notes, nil
	})
}

// Touching is a tool that changes files in a way that is not known before, or deletes them; delete says which.
func Touching(files *Files, paths []string, delete bool) hooks.Tool {
	return &touching{files: files, name: map[bool]string{true: "delete", false: "change"}[delete], before: func(t *touchingCall) {
		for _, path := range paths {
			t.add(path, func(effect *hooks.FileEffect) {
				effect.Knowledge = hooks.KnowsBySearch
				if delete {
					effect.Op = change.Deleted
				}
			})
		}
	}}
}

// Made is what a client has made of files that it was let change, or changed without being asked. It is for an engine that
// judges afterwards: what stands against it is a note. Of each file Path, From, Op, Before and Knowledge are known; what is
// there now is read. One that was there and of which nothing else is known has no hash before. outcome has what the record
// says beside, and see sees the files in it before they are recorded.
func Made(files *Files, name string, made []hooks.FileEffect, outcome hooks.Outcome, see func(*hooks.Outcome)) hooks.Tool {
	return &touching{files: files, name: name, outcome: outcome, see: see, before: func(t *touchingCall) {
		for _, was := range made {
			t.add(was.Path, func(effect *hooks.FileEffect) {
				effect.Before, effect.Exists, effect.Knowledge, effect.From = was.Before, was.Exists, was.Knowledge, was.From
				t.made = true
			})
		}
	}}
}

type touching struct {
	files   *Files
	name    string
	outcome hooks.Outcome
	see     func(*hooks.Outcome) // nil: nobody looks
	before  func(*touchingCall)
}

func (t *touching) Spec() hooks.Spec { return hooks.Spec{Name: t.name, Class: hooks.Destructive} }

func (t *touching) Decode(hooks.Arguments) (hooks.Decoded, error) { return t, nil }

func (t *touching) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	c := &touchingCall{touching: t}
	t.before(c)
	return c, nil
}

type touchingCall struct {
	*touching
	targets []*workspace.Target
	effects []*hooks.FileEffect
	made    bool // by the client: what is there now is after the change
}

func (c *touchingCall) add(path string, describe func(*hooks.FileEffect)) {
	target, effect := c.files.target(path)
	describe(effect)
	c.targets, c.effects = append(c.targets, target), append(c.effects, effect)
}

func (c *touchingCall) Effects() hooks.Effects { return hooks.Effects{Files: c.effects} }

func (c *touchingCall) Close() error {
	var errs []error
	for _, t := range c.targets {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

func (c *touchingCall) Plan(context.Context) (hooks.Planned, error) {
	for i, effect := range c.effects {
		if c.targets[i] == nil {
			continue // its problem is a note
		}
		content, err := c.targets[i].Read(c.files.Limit)
		if errors.Is(err, workspace.ErrNotExist) {
			content, err = &workspace.Content{}, nil
		}
		if err != nil {
			return nil, readProblem(effect.Source(), err)
		}
		now := change.Version{Hash: string(content.Hash), Bytes: content.Bytes}
		if c.made {
			if effect.From != "" && now.Hash == "" { // what was to be moved there is gone
				effect.Path, effect.From = effect.From, ""
			}
			effect.After, effect.Op = now, opOf(effect, now.Hash)
			effect.Hunks = hooks.HunksOf(effect.Before.Bytes, now.Bytes)
		} else {
			effect.Before, effect.Exists = now, now.Hash != ""
		}
	}
	return c, nil
}

func opOf(effect *hooks.FileEffect, now string) change.Op {
	switch {
	case effect.Before.Hash == now && effect.From == "":
		return change.Unchanged
	case !effect.Exists:
		return change.Created
	case now == "":
		return change.Deleted
	case effect.From != "":
		return change.Moved
	}
	return change.Modified
}

func (c *touchingCall) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(func(context.Context) (*hooks.Outcome, error) {
		o := c.outcome
		o.Detail = maps.Clone(o.Detail)
		for _, effect := range c.effects {
			if effect.Problem == nil {
				unread := effect.Exists && effect.Before.Bytes == nil
				o.Files = append(o.Files, hooks.FileOutcome{Change: effect.Change, Knowledge: effect.Knowledge, InScope: true, Unread: unread})
			}
		}
		if c.see != nil {
			c.see(&o)
		}
		return &o, nil
	}), nil
}

// Result names the record.
func (c *touchingCall) Result(o *hooks.Outcome) (hooks.Result, error) {
	return hooks.Result{Text: o.RecordID}, nil
}
