package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// A call that waits may be making the same edit: that takes milliseconds, but on a slow disk. Each try is recorded.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// contended tells whether a refusal comes of a call that has the answer and is at the edit.
func (s *Server) contended(r approval.Request, refused *refusal.Refusal) bool {
	switch {
	case refused == nil:
		return false
	case refused.Code() == refusal.Busy:
		return true
	}
	return refused.Code() == refusal.ApprovalRequired && s.asks.Store.Spent(r.ID)
}

// CarryOut does what a request asks for that the operator has approved once, where ask.ForNobody says that it needs no
// session: the agent that asked may be gone. What the answer has made of it is made instead. It goes through the gate again,
// and is made only if it is still exactly what was approved. Where a call that still waits has done it first, there is
// nothing left to do, and no error. The text is what the agent would have been told. An error is a *refusal.Refusal.
func (s *Server) CarryOut(ctx context.Context, r approval.Request) (text string, err error) {
	arguments, err := ask.ArgumentsForNobody(r)
	if err != nil {
		return "", fmt.Errorf("read the stored call of %s: %w", r.ID, err)
	}
	var edited *hooks.Edited
	if a, err := s.asks.Store.AnswerOf(r.ID); err == nil { // else the call that waited has used it
		if edited, err = ask.EditedForNobody(r, a); err != nil {
			return "", fmt.Errorf("read the edited call of %s: %w", r.ID, err)
		}
	}
	engine := s.engine.WithAsker(s.asks.Approved(r))
	caller := session.Caller{ClientName: r.Client}
	if end := strings.LastIndexByte(r.Client, ' '); end > 0 {
		caller.ClientName, caller.ClientVersion = r.Client[:end], r.Client[end+1:]
	}
	do := func() hooks.Result {
		request := hooks.Request{Tool: r.Tool, Arguments: arguments, Caller: caller}
		if edited != nil {
			return engine.Instead(ctx, request, edited)
		}
		return engine.Do(ctx, request)
	}
	result := do()
	for pause := firstPause; pause < lastPause && s.contended(r, result.Refusal); pause *= 2 {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(pause):
		}
		result = do()
	}
	if result.Refusal != nil {
		return "", result.Refusal
	}
	var done struct {
		IntentID   string   `json:"intent_id"`
		OwnedScope []string `json:"owned_scope"`
	}
	if err := json.Unmarshal(result.Structured, &done); err != nil {
		return "", err
	}
	if answer, err := s.asks.Store.AnswerOf(r.ID); err == nil { // else the call that waited has used it
		if err := s.asks.Store.Close(answer); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s owns %v now.", done.IntentID, done.OwnedScope), nil
}
