package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// jobView is a command in the background as its session sees it.
type jobView struct {
	CommandID  string `json:"command_id" doc:"For stop_command."`
	Command    string `json:"command" doc:"The line."`
	Cwd        string `json:"cwd" doc:"Where it runs, relative to the workspace root."`
	IntentID   string `json:"intent_id" doc:"The intent that it runs under."`
	Running    bool   `json:"running" doc:"Whether it runs now."`
	StartedAt  string `json:"started_at" doc:"UTC."`
	DurationMS int64  `json:"duration_ms" min:"0" doc:"Until now, or until its end."`
	ExitCode   *int   `json:"exit_code" doc:"null while it runs, and where it could not be started."`
	TimedOut   bool   `json:"timed_out" doc:"Whether its timeout ended it."`
	EndedBy    string `json:"ended_by" doc:"Why it was ended before it ended by itself; empty if it was not."`
	ArtifactID string `json:"artifact_id" doc:"For read_command_output, also while it runs."`
	RecordID   string `json:"record_id" doc:"The ledger record of its end."`

	ChangedFiles []changedFile `json:"changed_files" doc:"What it changed in the workspace; known at its end."`
}

// lineLimit bounds a command line in a list, in bytes.
const lineLimit = 1000

func viewOf(s command.JobState) jobView {
	v := jobView{
		CommandID: s.ID, Command: clip(s.Line, lineLimit), Cwd: s.Cwd, IntentID: s.Intent, Running: s.Running,
		StartedAt: s.Began.UTC().Format(time.RFC3339), DurationMS: s.Duration.Milliseconds(),
		EndedBy: s.EndedBy, ArtifactID: s.ArtifactID, RecordID: s.RecordID, ChangedFiles: changedOf(s),
	}
	if s.Result != nil {
		v.ExitCode, v.TimedOut = &s.Result.ExitCode, s.Result.TimedOut
	}
	return v
}

func (v jobView) String() string {
	state := "could not be started"
	switch {
	case v.Running:
		state = "running"
	case v.ExitCode != nil:
		state = fmt.Sprintf("ended with exit code %d", *v.ExitCode)
	}
	if v.EndedBy != "" {
		state += " (" + v.EndedBy + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %d ms, started %s, output %s\n  %q in %s", v.CommandID, state, v.DurationMS, v.StartedAt, v.ArtifactID, v.Command, v.Cwd)
	listChanges(&b, v.ChangedFiles)
	return b.String()
}

func changedOf(s command.JobState) []changedFile {
	changed, _ := s.Report.([]changedFile)
	return append([]changedFile{}, changed...)
}

// jobOwner is the caller's; without one there is nothing that could be its own.
func (d *Commands) jobOwner(call *hooks.Call) (string, error) {
	if own := owner(call); own != "" {
		return own, nil
	}
	set, err := declared(d.Intents)
	if err != nil {
		return "", err
	}
	return "", gate.NoSelection(call.SessionErr, set)
}

type jobList struct {
	Commands []jobView `json:"commands" doc:"In the order of their start."`
}

func listCommands(d *Commands) hooks.Tool {
	spec := looking("list_commands", "List commands", "This session's commands in the background: those that run, and the last that ended.")
	return respond[sessionArg, jobList](spec, func(_ context.Context, call *hooks.Call, _ sessionArg) (*reply, error) {
		own, err := d.jobOwner(call)
		if err != nil {
			return nil, err
		}
		result := jobList{[]jobView{}}
		var lines []string
		for _, state := range d.Jobs.List(own) {
			v := viewOf(state)
			result.Commands = append(result.Commands, v)
			lines = append(lines, v.String())
		}
		if len(lines) == 0 {
			lines = []string{"No command of this session is or was in the background."}
		}
		return &reply{text: strings.Join(lines, "\n"), structured: result}, nil
	})
}

type stopCommandArgs struct {
	sessionArg
	CommandID string `json:"command_id" is:"name"`
}

// stopCommand needs no intent, as the other tools of class governance: what was started can be ended whatever has become of
// its intent. Its record is that of the command's end.
func stopCommand(d *Commands) hooks.Tool {
	spec := hooks.Spec{
		Name: "stop_command", Title: "End a command", Class: hooks.Governance, Idempotent: true,
		Description: "End a command that runs in the background, with all its processes. Answers when nothing is left of it.",
	}
	return respond[stopCommandArgs, jobView](spec, func(ctx context.Context, call *hooks.Call, a stopCommandArgs) (*reply, error) {
		own, err := d.jobOwner(call)
		if err != nil {
			return nil, err
		}
		state, err := d.Jobs.Stop(ctx, own, a.CommandID)
		if errors.Is(err, command.ErrNoJob) {
			return nil, refusal.Newf(refusal.FileNotFound, "This session has no command %q in the background.", clip(a.CommandID, 100)).
				WithHint(refusal.HintFixArguments).Suggest("Use a command_id of list_commands.")
		}
		if err != nil {
			return nil, err
		}
		v := viewOf(state)
		return &reply{text: v.String(), structured: v}, nil
	})
}
