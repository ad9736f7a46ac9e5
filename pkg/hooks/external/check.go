package external

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// Check is a program that looks at files after they were changed.
type Check struct {
	// Paths is a scope glob: a change of a file that it matches starts the program, once for the whole call.
	Paths string
	// Command is a line for the shell, run in the workspace root. CHANGED_FILES has the matching files of the call, a line
	// each. An exit code other than 0 says that it found problems, and its output tells which.
	Command string
	Timeout time.Duration
	// Found, if set, is told of what the check found. path is the file that was changed, or empty where it were several.
	Found func(ctx context.Context, call *hooks.Call, path, problems string)
}

// checkHook is a Check behind calls.
type checkHook struct {
	Check
	Options
	paths *intent.Scope
}

// NewCheck makes the post-hook of a check. The error is about its Paths.
func NewCheck(c Check, o Options) (hooks.PostHook, error) {
	paths, err := intent.CompileScope([]string{c.Paths})
	if err != nil {
		return nil, fmt.Errorf("the paths of the check %q: %w", c.Command, err)
	}
	h := &checkHook{c, o, paths}
	return hooks.PostFunc("check "+printable.Clip(printable.Text(c.Command), 200), h.after), nil
}

// after looks at the changed files: problems are a warning.
func (h *checkHook) after(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
	if call.Class != hooks.Destructive {
		return nil
	}
	changed := h.matching(outcome)
	if len(changed) == 0 {
		return nil
	}
	result, err := h.run(ctx, changed)
	switch {
	case err != nil:
		return err
	case result.Cancelled:
		return errors.New("was cancelled with the call")
	}
	h.keep(call, outcome, result.ExitCode, result.TimedOut)
	switch {
	case result.TimedOut:
		return fmt.Errorf("did not end within %s", h.Timeout)
	case result.ExitCode == 0:
		return nil
	}
	problems := excerpt(result.Output)
	outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("The check %q finds problems (exit code %d):\n%s", h.Command, result.ExitCode, problems))
	if h.Found != nil {
		path := ""
		if len(changed) == 1 {
			path = changed[0]
		}
		h.Found(ctx, call, path, problems)
	}
	return nil
}

// matching are the changed files that the check is for, also those that are gone.
func (h *checkHook) matching(outcome *hooks.Outcome) []string {
	var paths []string
	for _, f := range outcome.Changed() {
		for _, path := range []string{f.Path, f.From} {
			if path != "" && h.paths.Match(path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func (h *checkHook) run(ctx context.Context, changed []string) (command.Result, error) {
	return h.Run(ctx, command.Spec{Command: h.Command, Unkept: true, Timeout: h.Timeout}, "CHANGED_FILES="+strings.Join(changed, "\n"))
}

// excerptLines and excerptLimit bound what of a check's output reaches the agent, in lines and characters.
const (
	excerptLines = 40
	excerptLimit = 4_000
)

// excerpt is the beginning of an output: the first problem is the one to mend.
func excerpt(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	more := ""
	if len(lines) > excerptLines {
		more = fmt.Sprintf("\n[and %d lines more]", len(lines)-excerptLines)
		lines = lines[:excerptLines]
	}
	text := printable.Clip(strings.Join(lines, "\n"), excerptLimit) + more
	if text == "" {
		return "it printed nothing"
	}
	return text
}
