package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/install"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type commandArgs struct {
	changeArgs
	Command    string `json:"command" min:"1" max:"{line}"`
	Cwd        string `json:"cwd,omitempty" is:"path"`
	Timeout    int    `json:"timeout,omitempty" min:"1" doc:"Seconds, at most {timeout}."`
	Background bool   `json:"background,omitempty"`
	Staged     bool   `json:"staged,omitempty" doc:"It runs; its changes wait for commit_staged."`
}

const (
	commandLimit = 100_000     // of a line, in characters
	commandBytes = 128<<10 - 1 // in bytes, what the kernel takes for one argument
)

type commandTool struct {
	*Commands
	engine  *hooks.Engine
	tracked trackedPlaces
	client  Client // of a client's own command
}

func executeCommand(commands *Commands, engine *hooks.Engine) hooks.Tool {
	spec := hooks.Spec{
		Name: "execute_command", Title: "Run a command", Class: hooks.Destructive, OpenWorld: true,
		Description: "Run a shell line. Needs a selected intent. Standard input is empty. " +
			"read_command_output has all of a long output. Nothing of it outlives the call, unless background (for servers and watchers) is true: " +
			"then it ends with its intent or the server, or after a day.",
	}
	if commands.probe == nil {
		commands.probe = &stageProbe{}
	}
	t := &commandTool{Commands: commands, engine: engine}
	return define[commandArgs, commandResult](spec, t.targets, schema.Numbers{"line": commandLimit, "timeout": int(commands.MaxCommandTimeout.Seconds())})
}

func (t *commandTool) targets(call *hooks.Call, args commandArgs) (hooks.Targeted, error) {
	c := &commandCall{commandTool: t, call: call, args: args, arrived: time.Now()}
	if args.Background && owner(call) == "" {
		return nil, refusal.New(refusal.InvalidArguments, "background: this call has no session that a command in the background could belong to; select an intent, or run it in the foreground.")
	}
	if limit := c.limit(); args.Timeout > int(limit.Seconds()) {
		return nil, refusal.Newf(refusal.InvalidArguments, "timeout: at most %d seconds.", int(limit.Seconds()))
	}
	if len(args.Command) > commandBytes {
		return nil, refusal.Newf(refusal.InvalidArguments, "command: it has %d bytes, and a shell takes %d at most. Write what is long into a file, and have the command read it.", len(args.Command), commandBytes)
	}
	if strings.Contains(args.Command, "\x00") {
		return nil, refusal.New(refusal.InvalidArguments, "command: it has a NUL byte, which no command line can have.")
	}
	if meant, escaped := shell.Escaped(args.Command); escaped {
		return nil, refusal.New(refusal.InvalidArguments, "command: it has HTML entities in the place of shell operators, so the shell would run another line than you mean. Nothing was run.").
			Suggest("Send the line as the shell is to read it: %s", clip(meant, 4000)).With("command", clip(args.Command, 4000))
	}
	c.dir, c.cwd = t.directory(args.Cwd)
	c.read()
	return c, nil
}

// limit is the longest timeout that the call can ask for.
func (c *commandCall) limit() time.Duration {
	if c.args.Background {
		return command.MaxJobTime
	}
	return c.MaxCommandTimeout
}

type commandCall struct {
	*commandTool
	call    *hooks.Call
	args    commandArgs
	dir     *workspace.Target
	cwd     *hooks.FileEffect
	targets []*hooks.FileEffect // of redirections, and of what installing dependencies writes
	install *install.Install    // nil where no command of the line installs anything
	denied  []denial
	git     replay.Line // of a line that is rehearsed
	// rehearsal is nil where there was none.
	rehearsal *rehearsal
	effect    *hooks.CommandEffect
	known     bool   // the contents of what the line names were looked at
	artifact  string // the id of its kept output
	result    command.Result
	profile   *profile.Profile // what it may read and write
	job       *command.Job     // of a command in the background that runs
	arrived   time.Time        // when the call came
	stage     *staged          // nil for a command that works on the workspace itself
	directly  string           // why it does

	parting  *parting      // of a command that may go to the background
	listener *hooks.Call   // who hears of its progress, if not the call
	answer   *hooks.Result // of a command that ended before its call had to leave
}

// Effects: the working directory stands among the files as a read, so that its problem is found at step 4.
func (c *commandCall) Effects() hooks.Effects {
	return hooks.Effects{Files: append([]*hooks.FileEffect{c.cwd}, c.targets...), Command: c.effect, Asks: c.client.Asks}
}

func (c *commandCall) timeout() time.Duration {
	if c.args.Timeout > 0 {
		return time.Duration(c.args.Timeout) * time.Second
	}
	if c.args.Background {
		return c.limit()
	}
	return c.CommandTimeout
}

func (c *commandCall) Close() error { return errors.Join(c.dropStage(), c.dir.Close()) }

func (c *commandCall) Plan(ctx context.Context) (hooks.Planned, error) {
	err := c.rehearse(ctx)
	if r, is := refusal.As(err); is && r.Code() != refusal.Cancelled {
		c.refuse(r)
		err = nil
	}
	return c, err
}

func (c *commandCall) Prepare(ctx context.Context) (hooks.Prepared, error) {
	if c.Runner == nil {
		return nil, refusal.New(refusal.CommandBlocked, "This machine has no shell that commands could run in.").WithHint(refusal.HintAskUser)
	}
	if c.client.Passed != nil {
		if err := c.client.Passed(); err != nil {
			return nil, err
		}
	}
	c.directly = c.direct()
	if err := c.cannotStage(c.directly); err != nil {
		return nil, err
	}
	dir, err := c.dir.OpenDir()
	if err != nil {
		return nil, readProblem(c.cwd.Path, err)
	}
	switch {
	case c.args.Background && c.job == nil:
		return hooks.Immediate(c.start), dir.Close()
	case c.handsOver() && c.parting == nil:
		return hooks.Immediate(c.wait), dir.Close()
	case c.directly == "":
		return c.prepareStaged(ctx, dir)
	}
	if c.profile, err = c.confine(ctx); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	baseline, err := c.Observer.Begin(ctx, c.observed())
	if err != nil {
		return nil, errors.Join(err, c.profile.Close(), dir.Close())
	}
	c.artifact = c.artifactID()
	prepared := &preparedCommand{c, dir, baseline}
	c.holdNames(baseline.Linked())
	if err := c.unchanged(); err != nil {
		return nil, errors.Join(err, prepared.Discard())
	}
	return prepared, nil
}

// artifactID is chosen before the command runs, so that the journal can tell where its output is to be found. What a client
// runs itself prints to the client.
func (c *commandCall) artifactID() string {
	if c.client.Run != nil {
		return ""
	}
	return command.NewArtifactID()
}

// observed is the command as what it does is observed.
func (c *commandCall) observed() *observe.Command {
	o := &observe.Command{Judge: c.judge(), Text: c.args.Command, Cwd: c.cwd.Path, Reading: c.effect.Reading, Places: c.profile.Places}
	if where, err := c.Profiles.Rehearsable(); err == nil && where.Common != "" {
		store := replay.NewStore(where.Common, where.Own, nil)
		o.Store = &store
	}
	if c.rehearsal != nil {
		o.Exempt, o.Overtaken = c.rehearsal.exempt, c.rehearsal.overtaken
	}
	return o
}

// judge judges what the command does.
func (c *commandCall) judge() *observe.Judge {
	j := c.judgeUnheld()
	j.Level, j.Build, j.Packages = c.profile.Level, c.profile.InPlace, c.profile.Packages
	git := c.Git
	j.Git = runsGit(c.effect.Reading) && (git == profile.GitTrusted || git == profile.GitOpen && c.profile.Level != sandbox.Landlock)
	if c.rehearsal != nil {
		j.Replayed = slices.Sorted(maps.Keys(c.rehearsal.exempt))
	}
	return j
}

// judgeUnheld is judge for a command that has no profile yet.
func (c *commandCall) judgeUnheld() *observe.Judge {
	j := &observe.Judge{Ignore: c.call.Ignore, Places: c.Workspace.Inside(), Git: true, Named: c.named()}
	if c.call.Intent != nil {
		j.Intent, j.Scope = c.call.Intent.ID, c.call.Intent.Scope()
	}
	return j
}

// named are the files that the gate has let the line write by their names.
func (c *commandCall) named() (names []string) {
	for _, f := range c.targets {
		if f.Mutates() {
			names = append(names, f.Path)
		}
	}
	return names
}

// preparedCommand is about to start. What it will change nobody knows yet.
type preparedCommand struct {
	call     *commandCall
	dir      *os.File
	baseline *observe.Baseline
}

func (p *preparedCommand) Pending() *hooks.Pending { return p.baseline.Pending(p.call.outcome(-1)) }

// outcome is what is known of the command before it has ended.
func (c *commandCall) outcome(exitCode int) *hooks.CommandOutcome {
	o := &hooks.CommandOutcome{
		Line: c.args.Command, Cwd: c.cwd.Path, ExitCode: exitCode, Sandbox: string(c.level()), Programs: c.programs(), Unjudged: len(c.effect.Reading.Unjudged) > 0,
		Artifact: c.artifact,
	}
	if c.job != nil {
		o.Job = c.job.ID()
	}
	return o
}

func (p *preparedCommand) Discard() error {
	p.baseline.Discard()
	return errors.Join(p.dir.Close(), p.call.profile.Close())
}

func (p *preparedCommand) Commit(ctx context.Context) (*hooks.Outcome, error) {
	defer p.dir.Close()
	defer p.baseline.Discard() // of no effect after Finish
	c := p.call
	defer c.profile.Close() // of no effect the second time
	outcome, err := c.perform(&ctx, p.dir)
	if err != nil {
		return nil, err
	}
	if c.result.Single && c.profile.Apart() {
		p.baseline.Enclosed()
	}
	c.profile.Vacate() // before the look at what changed: nobody changed it
	closed := make(chan error, 1)
	go func() { closed <- c.profile.Close() }()
	p.baseline.Finish(context.WithoutCancel(ctx), outcome) // also of a command that was cancelled
	c.explain()
	outcome.Warnings = append(outcome.Warnings, c.ledgerInTheWay(ctx)...)
	outcome.Warnings = append(outcome.Warnings, c.notAlone()...)
	c.left(outcome, <-closed)
	return outcome, nil
}

// explain says what the sandbox kept a command from that failed.
func (c *commandCall) explain() {
	if r := c.result; r.ExitCode != 0 {
		c.denied = c.denials(r.ExitCode, r.Output)
	}
}

// left says what of what was made for the command could not be removed.
func (c *commandCall) left(o *hooks.Outcome, err error) {
	if err != nil {
		o.Warnings = append(o.Warnings, fmt.Sprintf("What was made for the command alone is not all removed: %v.", err))
	}
}

// perform runs the command. A job has a context of its own, which ctx then is.
func (c *commandCall) perform(ctx *context.Context, dir *os.File) (*hooks.Outcome, error) {
	progress, listener := 0.0, cmp.Or(c.listener, c.call)
	spec := command.Spec{
		Command: c.args.Command, Dir: dir, Owner: c.call.Caller.Principal, Artifact: c.artifact, OutputCap: c.OutputCap, Timeout: c.timeout(),
		Env:   c.environment(c.profile),
		Level: c.profile.Level, Profile: c.profile.Sandbox,
		Progress: func(chunk string) { progress++; listener.Progress(chunk, progress, 0) },
	}
	if c.job != nil {
		spec.Progress, spec.Started, *ctx = nil, c.job.Started, c.job.Context()
	}
	if c.parting != nil {
		spec.Started = c.parting.started
	}
	var err error
	c.result, err = c.run(*ctx, spec)
	if c.parting != nil {
		c.job = c.parting.end()
	}
	if err != nil {
		return nil, commandProblem(err)
	}
	r := c.result
	c.artifact = r.ArtifactID
	o := c.outcome(r.ExitCode)
	o.TimedOut, o.DurationMS, o.OutputHash, o.Output = r.TimedOut, r.Duration.Milliseconds(), r.OutputHash, r.Output
	if c.job != nil && r.Cancelled {
		o.EndedBy = c.job.EndedBy()
	}
	return &hooks.Outcome{Warnings: slices.Concat(c.profile.Warnings, r.Warnings), Command: o}, nil
}

func commandProblem(err error) error {
	switch {
	case errors.Is(err, command.ErrInvalidSpec):
		return refusal.Newf(refusal.InvalidArguments, "%v.", err)
	case errors.Is(err, command.ErrNotStarted):
		return notStarted()
	case errors.Is(err, sandbox.ErrMoved):
		return refusal.Newf(refusal.Busy, "The command was not started: %v.", err)
	case errors.Is(err, sandbox.ErrUnavailable):
		return refusal.Newf(refusal.SandboxUnavailable, "The command was not started: %v.", err)
	}
	return fmt.Errorf("the command did not start: %w", err)
}

func notStarted() *refusal.Refusal {
	return refusal.New(refusal.Cancelled, "The call was cancelled; the command was not started.")
}
