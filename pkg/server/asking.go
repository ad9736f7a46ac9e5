package server

import (
	"context"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// waysOf is how the operator can be asked while a call is made.
func waysOf(call mcpbridge.Call) hooks.Ways {
	ways := hooks.Ways{Aside: call.Aside, Return: call.Caller.Modern && call.Caller.CanElicit}
	if elicit := call.Elicit; elicit != nil {
		ways.Elicit = func(ctx context.Context, f hooks.Form) (hooks.Reply, error) {
			answer, err := elicit(ctx, formOf(f))
			return replyOf(answer), err
		}
	}
	// An answer of a client that cannot be asked was not given to a question of ours.
	if resumed := call.Resumed; resumed != nil && ways.Return {
		ways.Resumed = &hooks.Resumed{State: resumed.State, Read: func(f hooks.Form) (hooks.Reply, error) {
			answer, err := formOf(f).Read(resumed.Answer)
			return replyOf(answer), err
		}}
	}
	return ways
}

// formOf is an approval as a form: one decision, and a reason if one is wanted.
func formOf(f hooks.Form) mcpbridge.Form {
	options := []mcpbridge.Option{{Value: string(approval.Once), Title: "Approve once"}}
	if f.ForIntent {
		options = append(options, mcpbridge.Option{Value: string(approval.ForIntent), Title: "Approve for this intent, until it ends"})
	}
	options = append(options, mcpbridge.Option{Value: string(approval.Deny), Title: "Deny"})
	return mcpbridge.Form{Message: f.Message, Fields: []mcpbridge.Field{
		{Name: "decision", Title: "Decision", Description: "What the call may do.", Required: true, Options: options},
		{Name: "reason", Title: "Reason", Description: "Yours, if you like; it reaches the agent."},
	}}
}

// replyOf: who declines the form says no; who puts it away has not answered.
func replyOf(a mcpbridge.Answer) hooks.Reply {
	switch a.Action {
	case mcpbridge.Accept:
		return hooks.Reply{Decision: a.Values["decision"], Reason: a.Values["reason"]}
	case mcpbridge.Decline:
		return hooks.Reply{Decision: string(approval.Deny)}
	}
	return hooks.Reply{}
}
