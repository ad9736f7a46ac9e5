package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/clientrules"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// running is a client's command from its verdict to its record. The engine's call of it waits in run for the end.
type running struct {
	desk  *Desk
	event clienthook.Event
	id    string
	tells bool   // its last directory is the shell's next
	line  string // that the client is to run

	passed   chan struct{} // closed when it may be run
	ended    chan struct{} // closed when it has ended, or never will begin
	finished chan struct{} // closed when it is on record

	mu      sync.Mutex
	claimed bool
	locked  bool // by a process that cannot say anything
	over    bool // ended is closed
	result  command.Result
	level   sandbox.Level // at which it ran; "" is as it was to
	err     error
	hangUp  func() // ends the process that runs it
	refusal *refusal.Refusal
	asking  asking
	once    sync.Once
}

// command judges a line, and makes it one that runs in the sandbox.
func (d *Desk) command(ctx context.Context, e clienthook.Event, a clienthook.Command) clienthook.Answer {
	if !e.Client.Abilities(e.Mode).Rewrite {
		return d.deny(e, refusal.Newf(refusal.CommandBlocked, "%s lets no hook put a command into the sandbox, so its own shell is not let through.", e.Client).
			WithHint(refusal.HintFollowConstraints).Suggest("Call execute_command of the MCP server orchestra with the same line."))
	}
	reading := shell.Read(a.Line, shell.Bash)
	r := &running{
		desk: d, event: e, id: newJobID(), tells: movesAbout(&reading),
		passed: make(chan struct{}), ended: make(chan struct{}), finished: make(chan struct{}),
	}
	cwd := e
	if a.Cwd != "" {
		cwd.Cwd = d.path(e, a.Cwd)
	}
	own, asks := d.rules(e, a.Line, &reading)
	if own.Verdict == clienthook.Deny {
		return d.deny(e, asks)
	}
	call := ours{
		tool: tools.ClientCommand(d.Tools.Commands, d.Engine, tools.Client{Passed: r.pass, Run: r.run, Asks: asks, Lasting: a.Background, Nested: true}),
		args: map[string]any{"command": a.Line, "cwd": d.cwd(cwd)},
	}
	request, err := d.request(e, call)
	if err != nil {
		return d.denied(e, refusal.From(err))
	}
	if r.line = r.rewritten(a.Line); len(r.line) > maxLine {
		return d.deny(e, refusal.New(refusal.InvalidArguments, "With its quotes escaped the line is too long for the client's shell. Write a script file and run that."))
	}
	go func() {
		defer close(r.finished)
		r.refusal = d.ask(e, &r.asking, func(engine *hooks.Engine) *refusal.Refusal {
			return engine.Run(context.WithoutCancel(ctx), call.tool, request).Refusal
		})
		r.recorded()
		d.mu.Lock()
		delete(d.commands, r.id)
		d.mu.Unlock()
	}()
	select {
	case <-r.passed:
		answer := r.asking.answer()
		if answer.Verdict == clienthook.Pass {
			answer = own
		}
		answer.Command = r.line
		return answer
	case <-r.finished:
		if r.refusal == nil { // a rehearsal, say, did all of it
			return d.deny(e, refusal.New(refusal.InternalError, "The command was judged and not let through; nothing was run."))
		}
		return d.denied(e, r.refusal)
	}
}

// recorded adds what the command's own record does not say.
func (r *running) recorded() {
	r.mu.Lock()
	let, begun := r.over, r.err == nil
	r.mu.Unlock()
	switch {
	case let && begun:
		r.desk.approved(r.event, r.asking.questions)
		if r.refusal != nil { // what it changed that it may not, or that it could not be recorded
			r.desk.tell(r.event, "of the command that was run: "+Text(r.refusal))
		}
	case let:
		r.desk.note(r.event, "lapsed", "let through, and not begun")
	case r.refusal != nil: // the hook may have answered
		r.desk.refuseJob(r.id, Text(r.refusal))
	}
}

// pass is tools.Client.Passed: the hook answers, and the job comes while the client starts the line. Of a line that is put
// to somebody twice the second time counts.
func (r *running) pass() error {
	if err := r.desk.announceJob(r.id); err != nil {
		return err
	}
	r.desk.mu.Lock()
	r.desk.commands[r.id] = r
	r.desk.mu.Unlock()
	r.once.Do(func() { close(r.passed) })
	return nil
}

// run is tools.Client.Run: the client runs it.
func (r *running) run(_ context.Context, as *tools.ClientRun) (command.Result, error) {
	d, spec, began := r.desk, as.Spec, time.Now()
	dir, err := filepath.EvalSymlinks(filepath.Join(d.Tools.Files.Workspace.Dir(), filepath.FromSlash(as.Call.Effects.Command.Cwd)))
	if err != nil {
		return command.Result{}, err
	}
	job := Job{
		Version: 1, Line: spec.Command, Dir: filepath.ToSlash(dir), Expires: d.Clock().Add(JobLife), Tells: r.tells,
		Level: spec.Level, Profile: spec.Profile, Weaker: as.Weaker, Env: as.Own, KeepEnv: d.Tools.Commands.KeepEnv, MaxProcesses: d.Tools.Commands.Runner.MaxProcesses(),
	}
	defer d.dropJob(r.id)
	r.mu.Lock()
	lapsed := r.over
	r.mu.Unlock()
	if lapsed {
		return command.Result{}, command.ErrNotStarted
	}
	if err := d.putJob(r.id, job); err != nil {
		return command.Result{}, err
	}
	expires := time.NewTimer(JobLife)
	defer expires.Stop()
	for waiting := true; waiting; {
		select {
		case <-r.ended:
			waiting = false
		case <-expires.C:
			r.lapse() // of no effect on one that runs
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Duration, as.Ran = time.Since(began), r.level
	return r.result, r.err
}

// maxLine is what Linux takes for one argument of a program, in bytes.
const maxLine = 128<<10 - 1

// rewritten is what the client runs in the place of a line. One that can change the shell's directory is followed by what
// takes the change over.
func (r *running) rewritten(line string) string {
	program := shellword.Show(r.desk.Program)
	run := fmt.Sprintf("%s exec %s -- %s", program, r.id, shellword.Quote(line))
	if !r.tells {
		return run
	}
	return fmt.Sprintf(`%s; orchestra_status=$?; cd -- "$(%s exec --last-dir %s)" 2>/dev/null; (exit $orchestra_status)`, run, program, r.id)
}

// movesAbout reports whether a line can leave its shell in another directory.
func movesAbout(reading *shell.Reading) bool {
	return slices.ContainsFunc(reading.Programs, func(p shell.Program) bool {
		return p.Name == "cd" || p.Name == "pushd" || p.Name == "popd"
	})
}

// end says how it ended, once. What nobody said is read from what its process left.
func (r *running) end(e *Ending, err error) {
	if e == nil && err == nil {
		if left, known := r.desk.endingOf(r.id); known {
			e = &left
		} else {
			r.desk.endAbandoned(0)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over, r.err, r.result.ExitCode = true, err, -1
	if e != nil {
		r.result.ExitCode, r.level = e.ExitCode, e.Level
	}
	close(r.ended)
}

// lapse ends what has not begun, for nobody will begin it, and what has ended without saying so.
func (r *running) lapse() {
	held, taken := r.desk.jobHeld(r.id)
	r.mu.Lock()
	begun, locked := r.claimed, r.locked
	r.locked = r.locked || held
	r.mu.Unlock()
	switch {
	case begun, held:
	case locked, taken:
		r.end(nil, nil)
	default:
		r.end(nil, command.ErrNotStarted)
	}
}

// stop ends it.
func (r *running) stop() {
	r.lapse()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hangUp != nil {
		r.hangUp()
	}
}

// Begins is told by the process that runs a command that it begins; hangUp ends that process. False: nothing waits for it, and
// it must not run.
func (d *Desk) Begins(id string, hangUp func()) bool {
	d.mu.Lock()
	r := d.commands[id]
	d.mu.Unlock()
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.claimed {
		return false
	}
	r.claimed, r.hangUp = true, hangUp
	return true
}

// Ended is told by the same process how it ended.
func (d *Desk) Ended(id string, e Ending) {
	d.mu.Lock()
	r := d.commands[id]
	d.mu.Unlock()
	if r != nil {
		r.end(&e, nil)
	}
}

// Abandoned is told that this process hung up, for it was killed itself. Its id is 0 where that is not known.
func (d *Desk) Abandoned(id string, pid int) {
	d.endAbandoned(pid)
	d.Ended(id, Ending{ExitCode: -1})
}

// endAbandoned ends what is left of a command whose process, with that id, was killed.
func (d *Desk) endAbandoned(pid int) {
	if ended := d.Tools.Commands.Runner.EndAbandonedBy(pid); len(ended) > 0 {
		d.Logger.Warn().Ints("pids", ended).Msg("ended what was left of a client's command")
	}
}

// commandMade takes the client's word that a command has ended, where the process that ran it could not say so.
func (d *Desk) commandMade(e clienthook.Event) {
	d.mu.Lock()
	var r *running
	made, _ := e.Action.(clienthook.Command)
	for _, one := range d.commands {
		if keyOf(one.event) == keyOf(e) {
			r = one
			break
		}
		if made.Line == one.line {
			r = one
		}
	}
	d.mu.Unlock()
	if r == nil || e.Response.Background {
		return
	}
	r.mu.Lock()
	claimed := r.claimed
	r.mu.Unlock()
	_, left := d.endingOf(r.id)
	switch {
	case claimed:
	case left || e.Response.ExitCode == nil:
		r.end(nil, nil)
	default:
		r.end(&Ending{ExitCode: *e.Response.ExitCode}, nil)
	}
	select {
	case <-r.finished:
	case <-time.After(patience): // it goes on although the client says that it has ended
	}
}

// patience is how long a client's next call waits for the record of its command.
const patience = 2 * time.Second

// rules are the user's own for commands, in the client's settings, to which the client cannot hold a line that we write in the
// place of another: the answer by them, and what the operator has to say yes to, or why it is denied.
func (d *Desk) rules(e clienthook.Event, line string, reading *shell.Reading) (answer clienthook.Answer, asks *refusal.Refusal) {
	own := clientrules.Judge(clientrules.Question{
		Client: e.Client, Mode: e.Mode, Home: d.Home, Workspace: d.Dir, Cwd: d.cwd(e), SystemRoot: "/", Line: line, Reading: reading, Lookup: os.LookupEnv,
	})
	why := own.Why
	if own.Rule != "" {
		why = fmt.Sprintf("the rule %q in %s", own.Rule, own.File)
	}
	switch own.Verdict {
	case clientrules.Deny:
		return clienthook.Answer{Verdict: clienthook.Deny}, refusal.Newf(refusal.CommandBlocked, "The user's own settings of %s deny this command: %s.", e.Client, why)
	case clientrules.Allow:
		return clienthook.Answer{Verdict: clienthook.Allow}, nil
	case clientrules.Ask:
		if canAsk(e) {
			return clienthook.Answer{Verdict: clienthook.Ask, Reason: "The user's own settings ask about this command: " + why}, nil
		}
		return answer, refusal.Newf(refusal.ApprovalRequired, "The user's own settings of %s ask about this command: %s.", e.Client, why)
	case clientrules.None:
		if canAsk(e) && e.Mode != "plan" {
			// The client would ask. Asked by us it does not offer a rule for the line that we wrote, which would allow all.
			return clienthook.Answer{Verdict: clienthook.Ask, Reason: "In the sandbox of the intent: " + line}, nil
		}
		return answer, nil
	}
	if e.Client == clienthook.VSCode {
		return answer, nil // which asks about every line that its lists do not name
	}
	return answer, refusal.Newf(refusal.ApprovalRequired,
		"%s cannot hold a command that runs in our sandbox to the rules that its user has made, so the operator has to let it through: %s.", e.Client, why)
}
