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
	CommandID  string `json:"command_id"`
	Command    string `json:"command"`
	Cwd        string `json:"cwd"`
	IntentID   string `json:"intent_id"`
	Running    bool   `json:"running"`
	StartedAt  string `json:"started_at"`
	DurationMS int64  `json:"duration_ms"`
	ExitCode   *int   `json:"exit_code"`
	TimedOut   bool   `json:"timed_out"`
	EndedBy    string `json:"ended_by"`
	ArtifactID string `json:"artifact_id"`
	RecordID   string `json:"record_id"`
	// ChangedFiles are known at the end.
	ChangedFiles []changedFile `json:"changed_files"`
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

func jobSchema() schema {
	return open([]string{"command_id", "command", "cwd", "intent_id", "running", "started_at", "duration_ms", "exit_code", "timed_out", "ended_by", "artifact_id", "record_id", "changed_files"}, schema{
		"command_id":    text("For stop_command."),
		"command":       text("The line."),
		"cwd":           text("Where it runs, relative to the workspace root."),
		"intent_id":     text("The intent that it runs under."),
		"running":       flag("Whether it runs now."),
		"started_at":    text("UTC."),
		"duration_ms":   number("Until now, or until its end.", 0),
		"exit_code":     schema{"type": []string{"integer", "null"}, "description": "null while it runs, and where it could not be started."},
		"timed_out":     flag("Whether its timeout ended it."),
		"ended_by":      text("Why it was ended before it ended by itself; empty if it was not."),
		"artifact_id":   text("For read_command_output, also while it runs."),
		"record_id":     text("The ledger record of its end."),
		"changed_files": list("What it changed in the workspace; known at its end.", changedSchema()),
	})
}

// jobOwner is the caller's; without one there is nothing that could be its own.
func (d *Deps) jobOwner(call *hooks.Call) (string, error) {
	if own := owner(call); own != "" {
		return own, nil
	}
	set, err := d.intents()
	if err != nil {
		return "", err
	}
	return "", gate.NoSelection(call.SessionErr, set)
}

type listCommandsArgs struct {
	Session string `json:"session"`
}

func listCommands(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "list_commands", Title: "List background commands", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description:  "List the commands of this session in the background: those that run, and the last that ended.",
		InputSchema:  input(nil, schema{}),
		OutputSchema: output(open([]string{"commands"}, schema{"commands": list("In the order of their start.", jobSchema())})),
	}
	return newSimple(spec, func(_ context.Context, call *hooks.Call, _ listCommandsArgs) (*reply, error) {
		own, err := d.jobOwner(call)
		if err != nil {
			return nil, err
		}
		result := struct {
			Commands []jobView `json:"commands"`
		}{[]jobView{}}
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
	Session   string `json:"session"`
	CommandID string `json:"command_id"`
}

// stopCommand needs no intent, as the other tools of class governance: what
// was started can be ended whatever has become of its intent. Its record is
// that of the command's end.
func stopCommand(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "stop_command", Title: "End a background command", Class: hooks.Governance, Idempotent: true,
		Description: "End a command of this session in the background, with every process that it left: asked with SIGTERM, then killed. Answers when nothing is left of it.",
		InputSchema: input([]string{"command_id"}, schema{
			"command_id": given("As execute_command or list_commands gave it."),
		}),
		OutputSchema: output(jobSchema()),
	}
	return newSimple(spec, func(ctx context.Context, call *hooks.Call, a stopCommandArgs) (*reply, error) {
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
