package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// stagedNote is what is kept with the layer of a command.
type stagedNote struct {
	// Since is the time of the file systems' clock before the layer was there: what has an earlier time of change in the
	// workspace is as the command saw it.
	Since int64 `json:"since"`
	// Principal made it, under Intent and in Session, by its public id.
	Principal string `json:"principal,omitempty"`
	Intent    string `json:"intent,omitempty"`
	Session   string `json:"session,omitempty"`

	Command    string `json:"command"`
	Cwd        string `json:"cwd"`
	ExitCode   int    `json:"exit_code"`
	ArtifactID string `json:"artifact_id,omitempty"`
	RecordID   string `json:"record_id,omitempty"`
	// Files is how many files and links it changed.
	Files int `json:"files"`
	// Built are the places for builds that it had, Packages those of them that a package manager fills.
	Built    []string `json:"built,omitempty"`
	Packages []string `json:"packages,omitempty"`
	// Why it was not taken over, "" where nobody has tried.
	Why string `json:"why,omitempty"`
}

// staged is the layer that a command works on, and what became of it.
type staged struct {
	layers *staging.Layers // nil when it is not held any more
	over   []sandbox.Layer
	id     string
	note   stagedNote
	found  *layerFound     // what the command did; nil where that is nothing
	ctx    context.Context // of the call, for the take-over behind its record
	// taken is what was taken over, refused why nothing was; neither where there was nothing to take over.
	taken   *StagedResult
	refused *refusal.Refusal
}

// upper is where the layer lies, held or kept.
func (s *staged) upper() string { return s.over[0].Upper }

// stagedRun is about to start on a layer of its own.
type stagedRun struct {
	call *commandCall
	dir  *os.File
}

func (c *commandCall) prepareStaged(ctx context.Context, dir *os.File) (_ hooks.Prepared, err error) {
	prepared := &stagedRun{c, dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, prepared.Discard())
		}
	}()
	layers, err := staging.Open(c.Workspace)
	if err != nil {
		return nil, fmt.Errorf("make a layer for the command: %w", err)
	}
	c.stage = &staged{layers: layers, id: layers.ID()}
	if c.stage.over, err = layers.Over([]string{c.Workspace.Dir()}); err != nil {
		return nil, err
	}
	if c.profile, err = c.confine(ctx); err != nil {
		return nil, err
	}
	if err := c.hideNames(ctx); err != nil {
		return nil, err
	}
	c.artifact = c.artifactID()
	return prepared, c.unchanged()
}

// hideNames hides what is secret under all its names. Only a look at the workspace finds these.
func (c *commandCall) hideNames(ctx context.Context) error {
	if len(c.profile.Sandbox.Hidden) == 0 {
		return nil
	}
	window, err := c.Observer.Snapshots.Begin(ctx, nil)
	if err != nil {
		return fmt.Errorf("look for the other names of what is secret: %w", err)
	}
	defer window.Discard()
	c.holdNames(window.Linked())
	return nil
}

// Pending has nothing by which changes could be found: after a crash there are none.
func (p *stagedRun) Pending() *hooks.Pending {
	o := p.call.outcome(-1)
	o.Detail = map[string]any{record.DetailStaged: p.call.stage.id}
	return &hooks.Pending{Outcome: &hooks.Outcome{Command: o}}
}

func (p *stagedRun) Discard() error {
	errs := []error{p.call.dropStage(), p.dir.Close()}
	if p.call.profile != nil {
		errs = append(errs, p.call.profile.Close())
	}
	return errors.Join(errs...)
}

func (p *stagedRun) Commit(ctx context.Context) (*hooks.Outcome, error) {
	defer p.dir.Close()
	c := p.call
	defer c.profile.Close() // of no effect the second time
	c.stage.ctx = ctx
	c.stage.note.Since = awaitTick(c.arrived)
	outcome, err := c.bounded(ctx, p.dir)
	if err != nil {
		return nil, errors.Join(err, c.dropStage())
	}
	c.profile.Vacate()
	c.lookAtStage(context.WithoutCancel(ctx), outcome)
	c.explain()
	c.left(outcome, c.profile.Close())
	return outcome, nil
}

var errLayerFull = errors.New("its layer is full")

// bounded runs the command, and ends it where it writes too much.
func (c *commandCall) bounded(ctx context.Context, dir *os.File) (*hooks.Outcome, error) {
	most := cmp.Or(c.LayerBytes, staging.MaxBytes)
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	watched, done := context.WithCancel(running)
	defer done()
	go c.stage.layers.Bounded(watched, most, func() { end(errLayerFull) })
	outcome, err := c.perform(&running, dir)
	if err == nil && errors.Is(context.Cause(running), errLayerFull) {
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("The command was ended, and nothing of what it did was taken over: it had written more than %d MiB.", most>>20))
	}
	return outcome, err
}

// lookAtStage finds what the command did. The layer of one that was cancelled, or changed nothing but what is built, goes.
func (c *commandCall) lookAtStage(ctx context.Context, o *hooks.Outcome) {
	s := c.stage
	if c.result.Cancelled {
		c.left(o, c.dropStage())
		return
	}
	s.note = stagedNote{
		Since: s.note.Since, Principal: c.call.Caller.Principal, Intent: c.call.RecordedIntent(), Command: c.args.Command, Cwd: c.cwd.Path,
		ExitCode: c.result.ExitCode, ArtifactID: c.artifact, Built: c.profile.Places, Packages: c.profile.Packages,
	}
	if c.call.Session != nil {
		s.note.Session = c.call.Session.PublicID()
	}
	found, err := c.lookAtLayer(s.upper(), &s.note)
	if err == nil && len(found.left) > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("FIFOs, sockets and devices are not taken over (%d, among them %s).", len(found.left), printable.Name(found.left[0])))
	}
	if err == nil && found.nothing() && !c.args.Staged && found.closed(c.call.Ignore) == "" {
		if len(found.built) > 0 {
			o.Build, o.Command.Detail = found.builds(), found.packagesIn(o.Command.Detail)
			o.Warnings = append(o.Warnings, c.putBuilt(ctx, s.layers, found)...)
		}
		c.touch(found)
		c.left(o, c.dropStage())
		return
	}
	if err != nil {
		found, s.note.Why = &layerFound{}, err.Error()
	}
	s.found, s.note.Files = found, len(found.files)+len(found.links)
	if o.Command.Detail == nil {
		o.Command.Detail = map[string]any{}
	}
	o.Command.Detail[record.DetailStaged] = s.id
}

// dropStage throws the layer away, if it is held.
func (c *commandCall) dropStage() error {
	if c.stage == nil || c.stage.layers == nil {
		return nil
	}
	layers := c.stage.layers
	c.stage.layers = nil
	return layers.Close()
}

// takeOver has what the command did taken over, in a call of its own that the gate judges as any other, when the command's
// record stands. Whatever keeps it from that, the layer is kept.
func (c *commandCall) takeOver(recordID string) error {
	s := c.stage
	if s == nil || s.found == nil {
		return nil
	}
	s.note.RecordID = recordID
	layers := s.layers
	s.layers = nil
	if err := layers.Keep(s.found.bytes, s.note); err != nil {
		return errors.Join(fmt.Errorf("keep what the command did: %w", err), layers.Close())
	}
	if c.args.Staged {
		return nil
	}
	if s.note.Why != "" {
		s.refused = unreadLayer(s.note.Why, nil)
		return nil
	}
	arguments, err := hooks.MakeArguments(commitArgs{
		changeArgs{sessionArg{c.call.Handle}, c.args.IntentID, c.args.MutationClass}, stagedArg{s.id},
	})
	if err != nil {
		return err
	}
	result := c.engine.Run(s.ctx, commitOf(c.Commands, c), c.call.Inner(commitName, arguments))
	if result.Refusal == nil {
		c.touch(s.found)
		s.taken = &StagedResult{}
		return json.Unmarshal(result.Structured, s.taken)
	}
	s.refused = result.Refusal
	code := s.refused.Code()
	if code == refusal.Cancelled {
		return c.DiscardStaged(s.id)
	}
	if code == refusal.InternalError || (code == refusal.StaleFile || code == refusal.Busy) && c.besideOthers() {
		if next := c.sendAgain(); next != "" {
			s.refused = s.refused.Suggest("%s", next).WithHint(refusal.HintRetry)
		}
	}
	return c.noteWhy(s.refused.Reason())
}

// touch gives files that the command only touched their new times, and directories theirs, but for those that it may not change,
// or somebody else has changed since. That is no change of which a record would tell.
func (c *commandCall) touch(found *layerFound) {
	judge := c.judge()
	for _, t := range found.touched {
		if judge.Allows(t.path) || placeOf(c.stage.note.Built, t.path) != "" {
			_ = c.Workspace.SetModTime(t.path, t.at, c.stage.note.Since)
		}
	}
}

// noteWhy writes down why nothing was taken over.
func (c *commandCall) noteWhy(why string) error {
	s := c.stage
	layers, _, err := staging.Take(c.Workspace, s.id)
	if err != nil {
		return err
	}
	s.note.Why = why
	return layers.Keep(s.found.bytes, s.note)
}
