package operator

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// Progress tells of each intent how far it is, with what waits and who works by a report of the same moment; see
// status.ProgressOf.
func (w *Workspace) Progress(ctx context.Context, set *intent.Set, now status.Report) ([]status.Progress, error) {
	waiting, live := status.Counts{}, status.Counts{}
	for _, r := range now.Waiting {
		waiting[r.IntentID]++
	}
	for _, a := range now.Agents {
		live[a.IntentID]++
	}
	return status.ProgressOf(ctx, w.Ledger, set, waiting, live)
}
