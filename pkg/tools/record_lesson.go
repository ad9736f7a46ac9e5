package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/brain"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type recordArgs struct {
	sessionArg
	unusedClass
	IntentID string `json:"intent_id,omitempty" is:"word"`
	Path     string `json:"path,omitempty" alias:"file_path" is:"path"`
	Lesson   string `json:"lesson" is:"sentence"`
	Kind     string `json:"kind,omitempty" enum:"lesson,decision,constraint"`
	Category string `json:"category,omitempty" match:"^[A-Za-z0-9][A-Za-z0-9 _-]{0,39}$" doc:"A word, as testing."`
}

type recordedLesson struct {
	Kind     brain.Kind `json:"kind" enum:"lesson,decision,constraint" doc:"What it is."`
	Date     string     `json:"date" doc:"YYYY-MM-DD."`
	Intent   string     `json:"intent_id,omitempty"`
	Path     string     `json:"path,omitempty"`
	Category string     `json:"category,omitempty"`
	Text     string     `json:"text" doc:"As written."`
	File     string     `json:"file" doc:"The shared brain."`
	Recorded bool       `json:"recorded" doc:"Whether it was written; false if it was known."`
	RecordID string     `json:"record_id" doc:"The ledger record, empty if nothing was written."`
}

// recordLesson makes the tool that appends to the shared brain. It changes a file as the file tools do, journal and all, but
// needs no intent and no scope: the file is the setting's, and nothing that stands there can be changed.
func recordLesson(b *Brain) hooks.Tool {
	spec := hooks.Spec{
		Name: "record_lesson", Title: "Leave a lesson", Class: hooks.Governance, Idempotent: true,
		Description: "Leave a note for other agents and the operator: what would have saved you work, why something failed, what was decided, " +
			"what must not be done.",
	}
	return define[recordArgs, recordedLesson](spec, func(call *hooks.Call, a recordArgs) (hooks.Targeted, error) {
		if brain.Automatic(a.Category) {
			return nil, refusal.Newf(refusal.InvalidArguments, "category: %q is what the server notes by itself; take another word.", a.Category)
		}
		about, err := b.pathFilter(a.Path)
		if err != nil {
			return nil, err
		}
		return b.noting(call, brain.Entry{Kind: brain.Kind(a.Kind), Intent: a.IntentID, Path: about, Category: a.Category, Text: a.Lesson}), nil
	}, nil)
}

// Note is record_lesson for what the server notes by itself. The date is today, and the intent the call's.
func (b *Brain) Note(e brain.Entry) hooks.Tool {
	spec := hooks.Spec{Name: "record_lesson", Class: hooks.Governance}
	return define[struct{}, recordedLesson](spec, func(call *hooks.Call, _ struct{}) (hooks.Targeted, error) {
		return b.noting(call, e), nil
	}, nil)
}

// noting is a call that writes an entry of today.
func (b *Brain) noting(call *hooks.Call, e brain.Entry) *lessonCall {
	e.Date = b.Clock().UTC().Format(time.DateOnly)
	c := &lessonCall{brain: b, call: call, entry: e.Normal()}
	c.target, c.effect = b.resolve()
	return c
}

type lessonCall struct {
	onTarget
	brain *Brain
	call  *hooks.Call
	entry brain.Entry
	// known is the earlier entry, where there is one.
	known *brain.Entry
}

func (c *lessonCall) Plan(context.Context) (hooks.Planned, error) {
	if err := c.from(); err != nil {
		return nil, err
	}
	return c, c.plan()
}

// from says which intent the lesson is of.
func (c *lessonCall) from() error {
	if c.call.Session != nil {
		c.entry.Intent = c.call.Session.IntentID()
		return nil
	}
	if c.entry.Intent == "" {
		return nil
	}
	set, err := declared(c.brain.Intents)
	if err != nil {
		return err
	}
	if _, ok := set.Get(c.entry.Intent); !ok {
		return refusal.Newf(refusal.MissingOrInvalidIntent, "There is no intent %q.", clip(c.entry.Intent, 80)).
			Suggest("Leave intent_id out, or take one of list_intents.")
	}
	return nil
}

// plan computes the brain with the lesson at its end.
func (c *lessonCall) plan() error {
	text, err := c.brain.load(c.target, c.effect)
	c.effect.Op = change.Modified
	if r, ok := refusal.As(err); ok && r.Code() == refusal.FileNotFound {
		text, err = workspace.Text{}, nil
		c.effect.Op, c.effect.Before.Bytes, c.effect.Before.Hash = change.Created, nil, ""
	}
	if errors.Is(err, workspace.ErrBinary) {
		return refusal.Newf(refusal.NotARegularFile, "%s is binary; no lesson can be written into it.", c.effect.Path).
			WithHint(refusal.HintAskUser).Suggest("Ask the user to name another file in the setting brain.file.").With("path", c.effect.Path)
	}
	if err != nil {
		return err
	}
	after, known, err := brain.Add(text.String, c.entry)
	c.known = known
	switch {
	case errors.Is(err, brain.ErrEmpty):
		return refusal.New(refusal.InvalidArguments, "lesson: it says nothing.")
	case errors.Is(err, brain.ErrFull):
		return refusal.AtPath(refusal.TooLarge, c.effect.Path, "%s: %v.", c.effect.Path, err).WithHint(refusal.HintAskUser).
			Suggest("Ask the user to shorten the file, or to raise limits.file_size.")
	}
	encoded, err := text.Encode(after)
	if err != nil {
		return refusal.AtPath(refusal.InvalidArguments, c.effect.Path, "%s is %s, which cannot hold the lesson: %v.", c.effect.Path, text.Encoding, err)
	}
	setAfter(c.effect, text, after, encoded)
	return nil
}

// lessonAttempts bounds how often a lesson is put behind those that others write at the same moment.
const lessonAttempts = 50

// Prepare holds the file. Others may have appended since the plan: a lesson
// goes behind theirs, so that is no reason to refuse it.
func (c *lessonCall) Prepare(ctx context.Context) (hooks.Prepared, error) {
	for range lessonAttempts {
		planned := c.changes()
		prepared, err := planned.attempt(ctx)
		if !errors.Is(err, workspace.ErrStale) && !errors.Is(err, workspace.ErrExists) && !errors.Is(err, workspace.ErrNotExist) {
			if err != nil {
				return nil, planned.refuse(err)
			}
			return prepared, nil
		}
		if err := c.plan(); err != nil {
			return nil, err
		}
	}
	return nil, refusal.Newf(refusal.Busy, "%s is being changed all the time. Nothing was written.", c.effect.Path)
}

func (c *lessonCall) changes() *changes {
	planned := &changes{Files: c.brain.Files, call: c.call, class: mutation.Resolved{Class: mutation.Evolution}}
	if c.known != nil {
		return planned
	}
	planned.add(c.effect, workspace.Change{Op: c.effect.Op, Target: c.target, After: c.effect.After.Bytes})
	detail := map[string]any{"lesson": string(c.entry.Kind), "text": clip(c.entry.Text, 500)}
	for key, value := range map[string]string{"path": c.entry.Path, "category": c.entry.Category} {
		if value != "" {
			detail[key] = value
		}
	}
	planned.record = lifecycle(c.entry.Intent, detail)
	return planned
}

func (c *lessonCall) Result(o *hooks.Outcome) (hooks.Result, error) {
	e, text := c.entry, fmt.Sprintf("Recorded in %s.", c.effect.Path)
	if c.known != nil {
		e, text = *c.known, fmt.Sprintf("Nothing was written: %s has it already (%s).", c.effect.Path, c.known.Date)
	}
	return hooks.NewResult(text+warned(o.Warnings), recordedLesson{e.Kind, e.Date, e.Intent, e.Path, e.Category, e.Text, c.effect.Path, c.known == nil, o.RecordID})
}
