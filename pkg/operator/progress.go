package operator

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// Progress tells of each intent how far it is; see status.ProgressOf.
func (w *Workspace) Progress(ctx context.Context, set *intent.Set) ([]status.Progress, error) {
	waiting, live := status.Counts{}, status.Counts{}
	pending, err := approval.Open(w.Root, approval.Options{UserDir: w.UserDir(), Clock: w.Now}).Pending()
	if err != nil {
		return nil, err
	}
	for _, r := range pending {
		waiting[r.IntentID]++
	}
	report, err := w.Happening(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range report.Agents {
		live[a.IntentID]++
	}
	return status.ProgressOf(ctx, w.Ledger, set, waiting, live)
}
