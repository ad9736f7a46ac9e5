package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Verified is a verify command that passed.
type Verified struct {
	Command  string `json:"command" doc:"As the intent names it."`
	RecordID string `json:"record_id" doc:"Its ledger record."`
}

// verify runs the intent's verify commands in their order, each as a call of execute_command by the same caller: it passes
// the gate, runs as confined as any command, and has its own record. The first that does not pass ends it.
func verify(ctx context.Context, engine *hooks.Engine, call *hooks.Call, in *intent.Intent) ([]Verified, error) {
	var passed []Verified
	told := 0.0 // clients want progress to rise over all commands together
	tell := func(message string, _, _ float64) { told++; call.Progress(message, told, 0) }
	for i, line := range in.Verify {
		tell(fmt.Sprintf("verify %d of %d: %s\n", i+1, len(in.Verify), line), 0, 0)
		arguments, err := hooks.MakeArguments(commandArgs{
			changeArgs: changeArgs{sessionArg: sessionArg{call.Handle}, IntentID: in.ID}, Command: line,
		})
		if err != nil {
			return nil, err
		}
		inner := call.Inner("execute_command", arguments)
		inner.Progress = tell
		result := engine.Do(ctx, inner)
		if result.Refusal != nil {
			return nil, cannotVerify(in, line, result.Refusal)
		}
		if ctx.Err() != nil {
			return nil, refusal.Newf(refusal.Cancelled, "The call was cancelled while it verified; %s is as it was.", in.ID)
		}
		var ran commandResult
		if err := json.Unmarshal(result.Structured, &ran); err != nil {
			return nil, err
		}
		if *ran.ExitCode != 0 || ran.TimedOut {
			return nil, verifyFailed(in, line, ran, passed)
		}
		passed = append(passed, Verified{line, ran.RecordID})
	}
	return passed, nil
}

// cannotVerify is the refusal of a command by the gate, or of one that changed what it may not. Its code and its remedy
// stand; it says what the command was for.
func cannotVerify(in *intent.Intent, line string, r *refusal.Refusal) error {
	fault := "may not run"
	if r.Code() == refusal.CommandOutOfScope {
		fault = "is not within its law"
	}
	because := r.Reworded("%s cannot be marked done, because its verify command %q %s: %s", in.ID, clip(line, 300), fault, r.Reason()).With("verify_command", line)
	if r.Code() == refusal.MissingOrInvalidIntent || r.Code() == refusal.IntentMismatch {
		because = because.Suggest("Verify commands run under the intent: call select_active_intent with %s, then update_intent with its `session`.", in.ID)
	}
	return because
}

func verifyFailed(in *intent.Intent, line string, ran commandResult, passed []Verified) error {
	how := fmt.Sprintf("ended with exit code %d", *ran.ExitCode)
	if ran.TimedOut {
		how = "did not end in time"
	}
	return refusal.Newf(refusal.VerifyFailed, "%s is not done: its verify command %q %s.", in.ID, clip(line, 300), how).
		With("intent_id", in.ID).With("command", line).With("exit_code", *ran.ExitCode).With("timed_out", ran.TimedOut).
		With("output", ran.Output).With("truncated", ran.Truncated).With("artifact_id", ran.ArtifactID).
		With("record_id", ran.RecordID).With("passed", append([]Verified{}, passed...))
}
