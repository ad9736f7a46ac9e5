package trace

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// Views keeps contents for later refusals; gate.Freshness implements it.
type Views interface {
	Remember(hash string, content []byte)
}

// Seen is the post-hook that counts a session's own writes as seen.
func Seen(views Views) hooks.PostHook {
	return hooks.PostFunc("seen", func(_ context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
		for _, f := range outcome.Changed() {
			if f.AfterHash != "" {
				views.Remember(f.AfterHash, f.After)
			}
			switch f.Op {
			case hooks.Deleted:
				call.Views.Forgot(f.Path)
			case hooks.Moved:
				call.Views.Forgot(f.From)
				call.Views.Wrote(f.Path, f.AfterHash)
			default:
				call.Views.Wrote(f.Path, f.AfterHash)
			}
		}
		return nil
	})
}
