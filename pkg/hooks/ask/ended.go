package ask

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

var _ hooks.PostHook = (*Service)(nil)

// Name implements hooks.PostHook.
func (s *Service) Name() string { return "grants" }

// After withdraws what was granted for an intent that the call ended, before
// anybody can take the intent up again. An intent that is ended by hand is
// found by the next call that would use a grant.
func (s *Service) After(_ context.Context, _ *hooks.Call, outcome *hooks.Outcome) error {
	if outcome.Record == nil {
		return nil
	}
	status, ok := outcome.Record.Detail["status"].(string)
	if !ok || outcome.Record.IntentID == "" || intent.Status(status).Selectable() {
		return nil
	}
	_, err := s.Store.EndIntent(outcome.Record.IntentID)
	return err
}
