package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/brain"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type recordArgs struct {
	hooks.Common
	located
	Lesson   string `json:"lesson"`
	Kind     string `json:"kind"`
	Category string `json:"category"`
}

// lessonTool appends to the shared brain. It changes a file as the file tools
// do, journal and all, but needs no intent and no scope: the file is the
// setting's, and nothing that stands there can be changed.
type lessonTool struct {
	deps *Deps
	spec hooks.Spec
	args *arguments
	// given is what the server itself has to say; nil for agents.
	given *brain.Entry
}

// Note is record_lesson for what the server notes by itself. The date is
// today, and the intent the call's.
func Note(d *Deps, e brain.Entry) hooks.Tool {
	return &lessonTool{deps: d, spec: hooks.Spec{Name: "record_lesson", Class: hooks.Governance}, given: &e}
}

func recordLesson(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "record_lesson", Title: "Leave a lesson for others", Class: hooks.Governance, Idempotent: true,
		Description: "Leave a lesson, a decision or a constraint in the shared brain, where agents of every intent find it (query_lessons) and the operator reads it. " +
			"Record what would have saved you work: why something failed, what was decided and why, what must not be done. What is known already is not written again.",
		InputSchema: input([]string{"lesson"}, schema{
			"lesson":         sentenceSchema("What others should know, in a few sentences."),
			"kind":           oneOf("What it is; lesson if left out.", brain.Kinds()...),
			"path":           place("The file that it is about."),
			"file_path":      place("Another name for path."),
			"category":       schema{"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9 _-]{0,39}$", "description": "One or two words, such as testing."},
			"intent_id":      word("The intent that it came from, if none is selected."),
			"mutation_class": word("Not used."),
		}),
		OutputSchema: output(open([]string{"kind", "date", "text", "file", "recorded", "record_id"}, schema{
			"kind": oneOf("What it is.", brain.Kinds()...), "date": text("YYYY-MM-DD."), "text": text("As written."),
			"intent_id": schema{"type": "string"}, "path": schema{"type": "string"}, "category": schema{"type": "string"},
			"file":      text("The shared brain."),
			"recorded":  flag("Whether it was written; false if it was known."),
			"record_id": text("The ledger record, empty if nothing was written."),
		})),
	}
	return &lessonTool{deps: d, spec: spec, args: &arguments{name: spec.Name, source: spec.InputSchema}}
}

func (t *lessonTool) Spec() hooks.Spec { return t.spec }

func (t *lessonTool) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	c := &lessonCall{deps: t.deps, call: call}
	if t.given != nil {
		c.entry = *t.given
		c.entry.Date = t.deps.Clock().UTC().Format(time.DateOnly)
		c.entry = c.entry.Normal()
		c.target, c.effect = t.deps.brainTarget()
		return c, nil
	}
	var a recordArgs
	if err := t.args.decode(raw, &a); err != nil {
		return nil, err
	}
	if brain.Automatic(a.Category) {
		return nil, refusal.Newf(refusal.InvalidArguments, "category: %q is what the server notes by itself; take another word.", a.Category)
	}
	about, err := t.deps.pathFilter(a.located)
	if err != nil {
		return nil, err
	}
	c.entry = brain.Entry{
		Kind: brain.Kind(a.Kind), Date: t.deps.Clock().UTC().Format(time.DateOnly), Intent: a.IntentID,
		Path: about, Category: a.Category, Text: a.Lesson,
	}.Normal()
	c.target, c.effect = t.deps.brainTarget()
	return c, nil
}

type lessonCall struct {
	deps   *Deps
	call   *hooks.Call
	entry  brain.Entry
	target *workspace.Target
	effect *hooks.FileEffect
	// known is the earlier entry, where there is one.
	known *brain.Entry
}

func (c *lessonCall) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{c.effect}}
}

func (c *lessonCall) Close() error {
	if c.target == nil {
		return nil
	}
	return c.target.Close()
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
	set, err := c.deps.intents()
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
	text, err := c.deps.load(c.target, c.effect)
	c.effect.Kind = hooks.Modify
	if r, ok := refusal.As(err); ok && r.Code() == refusal.FileNotFound {
		text, err = workspace.Text{}, nil
		c.effect.Kind, c.effect.Before, c.effect.BeforeHash = hooks.Create, nil, ""
	}
	if errors.Is(err, workspace.ErrBinary) {
		return refusal.Newf(refusal.NotARegularFile, "%s is binary; no lesson can be written into it.", c.effect.Path).
			WithHint(refusal.HintAskUser).Suggest("Ask the user to name another file in the setting brain.file.").
			With("path", c.effect.Path).WithHint(refusal.HintAskUser)
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
		return refusal.Newf(refusal.TooLarge, "%s: %v.", c.effect.Path, err).With("path", c.effect.Path).WithHint(refusal.HintAskUser).
			Suggest("Ask the user to shorten the file, or to raise limits.file_size.")
	}
	encoded, err := text.Encode(after)
	if err != nil {
		return refusal.Newf(refusal.InvalidArguments, "%s is %s, which cannot hold the lesson: %v.", c.effect.Path, text.Encoding, err).With("path", c.effect.Path)
	}
	setAfter(c.effect, text, after, encoded)
	return nil
}

// lessonAttempts bounds how often a lesson is put behind those that others
// write at the same moment.
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
	planned := &changes{deps: c.deps, call: c.call, class: mutation.Resolved{Class: mutation.Evolution}}
	if c.known != nil {
		return planned
	}
	op := workspace.Create
	if c.effect.Kind == hooks.Modify {
		op = workspace.Modify
	}
	planned.add(c.effect, workspace.Change{Op: op, Target: c.target, After: c.effect.After})
	detail := map[string]any{"lesson": string(c.entry.Kind), "text": clip(c.entry.Text, 500)}
	for key, value := range map[string]string{"path": c.entry.Path, "category": c.entry.Category} {
		if value != "" {
			detail[key] = value
		}
	}
	planned.record = &hooks.Note{Kind: string(ledger.KindLifecycle), IntentID: c.entry.Intent, Detail: detail}
	return planned
}

type lessonResult struct {
	brain.Entry
	File     string `json:"file"`
	Recorded bool   `json:"recorded"`
	RecordID string `json:"record_id"`
}

func (c *lessonCall) Result(o *hooks.Outcome) (hooks.Result, error) {
	r := lessonResult{Entry: c.entry, File: c.effect.Path, Recorded: c.known == nil, RecordID: o.RecordID}
	text := fmt.Sprintf("Recorded in %s.", r.File)
	if c.known != nil {
		r.Entry = *c.known
		text = fmt.Sprintf("Nothing was written: %s has it already (%s).", r.File, c.known.Date)
	}
	for _, warning := range o.Warnings {
		text += "\nNote: " + printable.Text(warning)
	}
	return encodeResult(text, r)
}
