package server

import (
	"context"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// Client is who made the call that a tool runs for.
type Client struct {
	call  mcpbridge.Call
	class hooks.Class
	leave func() // the order of the session
}

type clientKey struct{}

// ClientOf is the client of the call whose context that is. Where no client made it (Server.Do), nobody listens, and nobody
// can be asked.
func ClientOf(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok {
		return c
	}
	return &Client{}
}

// maxProgress is how much of a message about progress is sent, in characters.
const maxProgress = 1000

// Progress tells how far the call is, to a client that asked for it, in at most 1,000 characters. A total of 0 means unknown. It
// waits while the client does not read.
func (c *Client) Progress(message string, done, total float64) {
	if c.call.Progress != nil {
		c.call.Progress(clip(message, maxProgress), done, total)
	}
}

// A Question is a form for the client's user, and a Reply what became of it.
type (
	Question = mcpbridge.Question
	Reply    = mcpbridge.Reply
)

var (
	// ErrUnanswered is what Client.Ask returns where the answer comes with the call's repetition. The handler is to return it.
	ErrUnanswered = mcpbridge.ErrUnanswered
	// ErrCannotAsk is what Client.Ask returns where nobody can be asked.
	ErrCannotAsk = mcpbridge.ErrCannotAsk
)

// asks is Ask where the client's user can be asked by this call; else nil.
func (c *Client) asks() func(ctx context.Context, key string, q Question) (Reply, error) {
	if c.call.Ask == nil || !c.call.Caller.CanElicit || c.call.Caller.Modern && c.class != hooks.Safe {
		return nil
	}
	return c.Ask
}

// Ask puts a form to the client's user and waits for the answer. The key names the question within the call.
//
// While it waits, later calls of the session go on, unless this one may change something.
//
// What comes back is the client's word: it may not have asked anybody. It is never an approval; those are the operator's.
//
// A client of 2026-07-28 is asked by the call's result, and makes the call again with the answers: the handler runs from its
// beginning each time, and Ask returns those that are there already; a call that the operator lets pass once is put to the
// operator each time too. So that nothing is done twice, this is for tools of
// class hooks.Safe; in others, where the client has not declared that it shows forms, and where its role answers nothing
// (auth.Role.Answers), it is ErrCannotAsk.
func (c *Client) Ask(ctx context.Context, key string, q Question) (Reply, error) {
	if c.call.Ask == nil || c.call.Caller.Modern && c.class != hooks.Safe {
		return Reply{}, ErrCannotAsk
	}
	if c.class == hooks.Safe { // as one that is put to the operator does
		c.leave()
	}
	return c.call.Ask(ctx, key, q)
}
