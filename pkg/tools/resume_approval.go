package tools

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type resumeArgs struct {
	hooks.Common
	ApprovalID string `json:"approval_id"`
}

// resumeTool goes on with what was asked for: it stands for the call that was
// stopped.
type resumeTool struct {
	hooks.Tool
	deps *Deps
	args *arguments
}

var _ hooks.StandIn = (*resumeTool)(nil)

func resumeApproval(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "resume_approval", Title: "Go on after an approval", Class: hooks.Governance,
		Description: "Go on after APPROVAL_REQUIRED: waits for the operator's answer, and after a yes carries out the stored call exactly as approved, once; " +
			"you need not send it again.",
		InputSchema: input([]string{"approval_id"}, schema{
			"approval_id":    given("As the earlier answer gave it."),
			"intent_id":      word("Not used."),
			"mutation_class": word("Not used."),
		}),
		OutputSchema: output(open([]string{"approval_id", "status"}, schema{
			"approval_id": text("The request."),
			"status":      text("executed: the stored call was carried out."),
			"tool":        text("The tool whose call was carried out."),
			"result":      schema{"type": "object", "description": "What that tool answers."},
		})),
	}
	run := func(_ context.Context, _ *hooks.Call, a resumeArgs) (*reply, error) {
		return nil, refusal.Newf(refusal.FileNotFound, "The request %q is none of a call that could be made.", clip(a.ApprovalID, 100)).
			WithHint(refusal.HintAskUser).Suggest("Make the call again that asked for the approval.")
	}
	return &resumeTool{newSimple(spec, run), d, &arguments{name: spec.Name, source: spec.InputSchema}}
}

// Stands implements hooks.StandIn.
func (t *resumeTool) Stands(ctx context.Context, call *hooks.Call, raw json.RawMessage) (*hooks.Stand, error) {
	var a resumeArgs
	if err := t.args.decode(raw, &a); err != nil {
		return nil, err
	}
	r, err := t.deps.Ask.Resume(ctx, call, a.ApprovalID)
	if err != nil {
		return nil, err
	}
	if len(r.Arguments) == 0 {
		return nil, refusal.Newf(refusal.TooLarge, "The call of %s was too large to be kept.", r.ID).
			WithHint(refusal.HintRetry).Suggest("Make the same call again; it passes if the operator has approved it.")
	}
	arguments, err := ask.Arguments(r, a.Session)
	if err != nil {
		return nil, err
	}
	return &hooks.Stand{Tool: r.Tool, Arguments: arguments, Result: func(result hooks.Result) (hooks.Result, error) {
		return encodeResult("The approved call "+r.ID+" was carried out.\n"+result.Text, executed{r.ID, "executed", r.Tool, result.Structured})
	}}, nil
}

type executed struct {
	ApprovalID string          `json:"approval_id"`
	Status     string          `json:"status"`
	Tool       string          `json:"tool"`
	Result     json.RawMessage `json:"result"`
}
