package tools

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type resumeArgs struct {
	sessionArg
	unusedClass
	IntentID   string `json:"intent_id,omitempty" is:"word" unlisted:"true"`
	ApprovalID string `json:"approval_id" is:"name"`
}

type resumed struct {
	ApprovalID string          `json:"approval_id" doc:"The request."`
	Status     string          `json:"status" doc:"executed: the stored call was carried out."`
	Tool       string          `json:"tool" optional:"true" doc:"The tool whose call was carried out."`
	Result     json.RawMessage `json:"result" form:"object" optional:"true" doc:"What that tool answers."`
}

// resumeTool goes on with the call that was stopped.
type resumeTool struct {
	*tool[resumeArgs]
	asks Asks
}

func resumeApproval(asks Asks) hooks.Tool {
	spec := hooks.Spec{
		Name: "resume_approval", Title: "Resume a call", Class: hooks.Governance,
		Description: "Go on after APPROVAL_REQUIRED: wait for the operator's answer. After a yes the stored call is made; do not send it again.",
	}
	return &resumeTool{define[resumeArgs, resumed](spec, nil, nil), asks} // a resumption has no targets
}

func (t *resumeTool) Decode(args hooks.Arguments) (hooks.Decoded, error) {
	call, err := t.decode(args)
	return &resuming{call, t.asks}, err
}

type resuming struct {
	*decoded[resumeArgs]
	asks Asks
}

var _ hooks.Resumption = (*resuming)(nil)

func (c *resuming) Stored(ctx context.Context, call *hooks.Call) (*hooks.StoredCall, error) {
	r, a, err := c.asks.Resume(ctx, call, c.args.ApprovalID)
	if err != nil {
		return nil, err
	}
	if len(r.Arguments) == 0 {
		return nil, refusal.Newf(refusal.TooLarge, "The call of %s was too large to be kept.", r.ID).
			WithHint(refusal.HintRetry).Suggest("Make the same call again; it passes if the operator has approved it.")
	}
	arguments, err := ask.Arguments(r, c.args.Session)
	if err != nil {
		return nil, err
	}
	return &hooks.StoredCall{Tool: r.Tool, Arguments: arguments, Edited: ask.Edited(r, a), Result: func(result hooks.Result) (hooks.Result, error) {
		var content []hooks.Content
		if result.Raw != nil { // another server's, whole
			result.Text, content = textsOf(result.Raw)
			result.Structured = result.Raw
		}
		made, err := hooks.NewResult("The approved call "+r.ID+" was carried out.\n"+result.Text, resumed{r.ID, "executed", r.Tool, result.Structured})
		made.Content = content
		return made, err
	}}, nil
}
