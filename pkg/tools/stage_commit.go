package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type stagedArg struct {
	StagedID string `json:"staged_id" is:"name"`
}

type commitArgs struct {
	changeArgs
	stagedArg
}

// StagedResult is what was taken over of a command.
type StagedResult struct {
	StagedID     string        `json:"staged_id" doc:"The command's changes that were taken over."`
	Command      string        `json:"command" doc:"The line that made them."`
	ChangedFiles []changedFile `json:"changed_files" doc:"What changed in the workspace."`
	RecordID     string        `json:"record_id" doc:"The ledger record."`
	Warnings     []string      `json:"warnings" optional:"true" doc:"What to know beside it."`

	Packages map[string]*observe.Packaged `json:"packages,omitempty" doc:"What changed in package directories: counted, in no list."`
}

// commitName is the tool by which everything is taken over.
const commitName = "commit_staged"

// commitStaged takes over what a command did on a layer: a change of files like any other, judged as it is now.
func commitStaged(d *Commands) hooks.Tool { return commitOf(d, nil) }

// commitOf is commitStaged right behind a command, of which it takes what the gate has let pass before it ran; nil is none.
func commitOf(d *Commands, behind *commandCall) hooks.Tool {
	spec := hooks.Spec{
		Name: commitName, Title: "Commit staged", Class: hooks.Destructive,
		Description: "Take over what a command did with staged: true, or what was kept aside. Needs a selected intent " +
			"that allows it, and files that nobody has changed since.",
	}
	return define[commitArgs, StagedResult](spec, func(call *hooks.Call, args commitArgs) (hooks.Targeted, error) {
		return takeStaged(d, call, args.StagedID, behind)
	}, nil)
}

type discardArgs struct {
	sessionArg
	unusedClass
	IntentID string `json:"intent_id,omitempty" is:"word" unlisted:"true"`
	stagedArg
}

type discardResult struct {
	StagedID string `json:"staged_id" doc:"What was thrown away."`
}

// discardTool throws away what a command did on a layer. Nothing of it was in the workspace.
func discardTool(d *Commands) hooks.Tool {
	spec := hooks.Spec{
		Name: "discard_staged", Title: "Discard staged", Class: hooks.Governance, Idempotent: true,
		Description: "Throw away what a command did with staged: true, or what was kept aside.",
	}
	return respond[discardArgs, discardResult](spec, func(_ context.Context, call *hooks.Call, a discardArgs) (*reply, error) {
		layers, _, err := d.openStaged(call, a.StagedID)
		if err != nil {
			return nil, err
		}
		if err := layers.Close(); err != nil {
			return nil, err
		}
		return &reply{
			outcome:    hooks.Outcome{Record: &hooks.Note{Kind: "lifecycle", Detail: map[string]any{record.DetailStaged: a.StagedID, "discarded": true}}},
			text:       fmt.Sprintf("What the command did is thrown away (%s). The workspace is as it was.", a.StagedID),
			structured: discardResult{a.StagedID},
		}, nil
	})
}

// openStaged holds what a command of the caller has left.
func (d *Commands) openStaged(call *hooks.Call, id string) (*staging.Layers, stagedNote, error) {
	var note stagedNote
	layers, kept, err := staging.Take(d.Workspace, id)
	switch {
	case errors.Is(err, staging.ErrHeld):
		return nil, note, refusal.Newf(refusal.Busy, "%s is being taken over or thrown away at the moment.", id)
	case errors.Is(err, staging.ErrUnknown):
		return nil, note, notStaged(id)
	case err != nil:
		return nil, note, err
	}
	if err = json.Unmarshal(kept.Note, &note); err == nil && !call.Operator && note.Principal != call.Caller.Principal {
		err = notStaged(id)
	}
	if err != nil {
		return nil, note, errors.Join(err, layers.Leave())
	}
	return layers, note, nil
}

func notStaged(id string) *refusal.Refusal {
	return refusal.Newf(refusal.FileNotFound, "Nothing is kept under %q: it was taken over or thrown away, or its time is over (%v).", clip(id, 100), staging.KeptFor).
		WithHint(refusal.HintFixArguments).Suggest("Run the command again.")
}

// unreadLayer refuses a take-over of which not all could be looked at.
func unreadLayer(why string, err error) *refusal.Refusal {
	code := refusal.NotARegularFile // as a directory without rights
	if err == nil || errors.Is(err, layer.ErrTooMuch) {
		code = refusal.TooLarge
	}
	return refusal.Newf(code, "What the command did cannot be looked at whole (%s).", why).
		Suggest("Run the command so that it changes fewer files, and leaves none that its own user cannot read.")
}

// takingOver is a take-over on its way.
type takingOver struct {
	*Commands
	call     *hooks.Call
	id       string
	named    []string // paths that the gate has let the command write by their names
	answered bool     // see hooks.Effects
	layers   *staging.Layers
	note     stagedNote
	found    *layerFound
	targets  []*workspace.Target
	sources  []*workspace.Target     // of moves
	effects  []*hooks.FileEffect     // of files, then links
	others   []*hooks.FileEffect     // of what stands against it, and directories out of scope
	set      *workspace.Set          // of the targets
	lying    map[string]*durable.Dir // directories of the layer that have files to take over
}

func takeStaged(d *Commands, call *hooks.Call, id string, behind *commandCall) (_ hooks.Targeted, err error) {
	t := &takingOver{Commands: d, call: call, id: id, set: d.Workspace.Set(), lying: map[string]*durable.Dir{}}
	if behind != nil {
		t.named, t.answered = behind.named(), true
	}
	if t.layers, t.note, err = d.openStaged(call, id); err != nil {
		return nil, err
	}
	if t.found, err = d.lookAtLayer(t.layers.Upper(0), &t.note); err != nil {
		return nil, errors.Join(unreadLayer(err.Error(), err), t.Close())
	}
	t.aim()
	return t, nil
}

// aim finds the targets. A path that cannot be used becomes its effect's problem.
func (t *takingOver) aim() {
	purpose := "Take over what the command did: " + clip(t.note.Command, 200)
	for _, f := range t.found.files {
		target, effect := t.exactly(f.path, f.op)
		var source *workspace.Target
		if f.from != "" {
			var left *hooks.FileEffect
			source, left = t.exactly(f.from, f.op)
			effect.From, effect.Protection, effect.GitParts = f.from, max(effect.Protection, left.Protection), append(effect.GitParts, left.GitParts...)
			effect.Problem = cmp.Or(effect.Problem, left.Problem)
		}
		t.sources = append(t.sources, source)
		effect.Purpose, effect.Cleared = purpose, slices.Contains(t.named, f.path)
		t.targets, t.effects = append(t.targets, target), append(t.effects, effect)
	}
	for _, l := range t.found.links {
		effect := &hooks.FileEffect{Change: change.Change{Op: l.op(), Path: l.path}, Requested: l.path, Knowledge: hooks.MadeByCommand, Purpose: purpose, Cleared: slices.Contains(t.named, l.path)}
		effect.Protection, effect.Exists = workspace.ProtectIn(t.Workspace.Inside(), l.path), l.from != ""
		effect.Before, effect.After = textVersion(l.from), textVersion(l.to)
		t.effects = append(t.effects, effect)
	}
	for _, c := range t.found.conflicts {
		next := "Run the command again: it then sees the files as they are now."
		if c.database {
			next = "A program outside has to close the database first, or to open it once if the one that left this has crashed. Then run the command again."
		}
		t.problem(c.path, refusal.AtPath(refusal.StaleFile, c.path, "%s: %s. Nothing of what the command did was taken over.", c.path, c.why).
			WithHint(refusal.HintRetry).Suggest("%s", next))
	}
	t.directories()
}

func (t *takingOver) problem(path string, r *refusal.Refusal) {
	t.others = append(t.others, &hooks.FileEffect{Change: change.Change{Op: change.Modified, Path: path}, Requested: path, Problem: r})
}

// directories adds those of which no file tells: they are judged like files.
func (t *takingOver) directories() {
	for _, dir := range t.found.untold() {
		target, effect := t.exactly(dir, change.Created)
		_ = target.Close()
		effect.Directory = true
		t.others = append(t.others, effect)
	}
}

func textVersion(text string) change.Version {
	if text == "" {
		return change.Version{}
	}
	return change.Version{Hash: workspace.HashOf([]byte(text)), Bytes: []byte(text)}
}

func (t *takingOver) exactly(path string, op change.Op) (*workspace.Target, *hooks.FileEffect) {
	effect := &hooks.FileEffect{Change: change.Change{Op: op, Path: path}, Requested: path, Knowledge: hooks.MadeByCommand, Exists: op != change.Created}
	target, err := t.set.ResolveExactly(path)
	if err != nil {
		effect.Problem = pathProblem(path, err)
		return nil, effect
	}
	effect.Protection, effect.GitParts = target.Protection(), target.GitParts()
	return target, effect
}

func (t *takingOver) Effects() hooks.Effects {
	return hooks.Effects{Files: slices.Concat(t.effects, t.others), Answered: t.answered}
}

// Close gives back what was not taken over.
func (t *takingOver) Close() error {
	var errs []error
	for _, target := range slices.Concat(t.targets, t.sources) {
		errs = append(errs, target.Close())
	}
	for _, dir := range t.lying {
		errs = append(errs, dir.Close())
	}
	errs = append(errs, t.set.Close())
	if t.targets, t.sources, t.lying = nil, nil, nil; t.layers != nil {
		errs = append(errs, t.layers.Leave())
		t.layers = nil
	}
	return errors.Join(errs...)
}

func (t *takingOver) render(o *hooks.Outcome) (hooks.Result, error) {
	result := StagedResult{StagedID: t.id, Command: t.note.Command, RecordID: o.RecordID, Warnings: append([]string{}, o.Warnings...)}
	if layers := t.layers; layers != nil {
		t.layers = nil
		if err := layers.Close(); err != nil {
			result.Warnings = append(result.Warnings, fmt.Sprintf("The layer of the command is not all removed: %v.", err))
		}
	}
	result.ChangedFiles, result.Warnings = changedFiles(o, result.Warnings)
	result.Packages = t.found.packages
	var b strings.Builder
	fmt.Fprintf(&b, "Taken over: %d files changed.\n[record: %s]", len(o.Changed()), o.RecordID)
	listChanges(&b, result.ChangedFiles)
	listPackages(&b, result.Packages)
	b.WriteString(warned(result.Warnings))
	return hooks.NewResult(b.String(), result)
}
