package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/brain"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

const (
	// lessonsPerHour bounds what one server notes by itself: an agent that fails all the time must not fill the brain.
	lessonsPerHour = 20
	// lessonTime bounds one note, in which an agent waits for its answer.
	lessonTime = 5 * time.Second
	// lessonLines is how many lines of an output a note quotes.
	lessonLines = 12
)

// observer notes lessons that no agent asked for, where the settings say so.
type observer struct {
	server *Server

	mu    sync.Mutex
	times []time.Time
}

// allowed counts a note against the hour.
func (o *observer) allowed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.server.options.Clock()
	o.times = slices.DeleteFunc(o.times, func(t time.Time) bool { return now.Sub(t) >= time.Hour })
	if len(o.times) >= lessonsPerHour {
		return false
	}
	o.times = append(o.times, now)
	return true
}

// note records a lesson as an inner call of the one that it is about: it is judged, journaled and recorded like an agent's
// own. What goes wrong is no matter of the call.
func (o *observer) note(ctx context.Context, call *hooks.Call, category, path, text string) {
	if !o.allowed() {
		o.server.log.Debug().Str("category", category).Msg("no lesson was noted: there were too many in this hour")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lessonTime)
	defer cancel()
	tool := o.server.tools.Brain.Note(brain.Entry{Category: category, Path: path, Text: printable.Clip(text, 2_000)})
	if result := o.server.engine.Run(ctx, tool, call.Inner(tool.Spec().Name, hooks.NoArguments())); result.IsError {
		o.server.log.Warn().Str("category", category).Str("refusal", result.Text).Msg("a lesson was not noted")
	}
}

func (o *observer) check(command string) func(context.Context, *hooks.Call, string, string) {
	return func(ctx context.Context, call *hooks.Call, path, problems string) {
		o.note(ctx, call, brain.FailedCheck, path, fmt.Sprintf("%s finds problems:\n%s", command, quoted(problems)))
	}
}

// command is the post-hook of failed commands.
func (o *observer) command() hooks.PostHook {
	return hooks.PostFunc("lessons of commands", func(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
		c := outcome.Command
		if c == nil || c.ExitCode == 0 && !c.TimedOut || c.Started || c.EndedBy != "" || ctx.Err() != nil {
			return nil
		}
		what := fmt.Sprintf("fails with exit code %d", c.ExitCode)
		if c.TimedOut {
			what = "does not end in its time"
		}
		o.note(ctx, call, brain.FailedCommand, "", fmt.Sprintf("The command %q %s (in %s).\n%s", printable.Clip(redact.Text(c.Line), 300), what, c.Cwd, tail(c.Output)))
		return nil
	})
}

// lawful are the refusals that teach something about the workspace. Others pass by themselves, or say what to do next.
func lawful() []refusal.Code {
	return []refusal.Code{
		refusal.ScopeViolation, refusal.CommandOutOfScope, refusal.IntentignorePathBlocked, refusal.ProtectedPath,
		refusal.CommandBlocked, refusal.RuleViolation, refusal.MutationClassMismatch, refusal.ApprovalRejected, refusal.HookBlocked,
	}
}

// refused notes a refusal of the gate.
func (o *observer) refused(ctx context.Context, call *hooks.Call, r *refusal.Refusal) {
	if call.Class != hooks.Destructive || !slices.Contains(lawful(), r.Code()) {
		return
	}
	path := ""
	if f := call.Effects.Files; len(f) > 0 && f[0].Problem == nil && f[0].Mutates() {
		path = f[0].Path
	}
	o.note(ctx, call, brain.RefusedCall, path, fmt.Sprintf("%s was refused (%s): %s", call.Tool, r.Code(), r.Reason()))
}

// quoted is the beginning of an output, as a note quotes it.
func quoted(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[:min(len(lines), lessonLines)], "\n")
}

// tail is the end of one: commands say last why they fail.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-lessonLines):], "\n")
}
