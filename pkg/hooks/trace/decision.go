package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Asked notes that the operator is asked about a call. It need not wait for the disk.
func (r *Recorder) Asked(call *hooks.Call, d record.Decision, way string) {
	if r.Ledger.Writable(context.Background()) == nil {
		r.Ledger.AppendSoon(decided(call, d, way))
	}
}

// Answered returns when the operator's answer to a call is as durable in the ledger as the settings ask.
func (r *Recorder) Answered(ctx context.Context, call *hooks.Call, d record.Decision, way string) error {
	if r.needless(ctx, call) {
		return nil
	}
	rec := decided(call, d, way)
	rec.Contributor = record.Contributor{Type: record.ContributorHuman}
	_, err := r.Ledger.Append(context.WithoutCancel(ctx), rec)
	if r.lets(err) {
		return nil
	}
	return err
}

func decided(call *hooks.Call, d record.Decision, way string) record.Record {
	rec := base(call)
	short(&d)
	rec.Kind, rec.Decision, rec.Detail = record.KindDecision, &d, map[string]any{"way": way}
	return rec
}

const (
	maxDecidedPaths  = 1000
	maxDecidedPath   = 4096     // bytes
	maxDecidedReason = 64 << 10 // bytes
)

// short cuts what a decision says, so that one that was made is never too large to be recorded.
func short(d *record.Decision) {
	d.Reason = cut(d.Reason, maxDecidedReason)
	paths := slices.Clone(d.Paths[:min(len(d.Paths), maxDecidedPaths)])
	for i, p := range paths {
		paths[i] = cut(p, maxDecidedPath)
	}
	if more := len(d.Paths) - maxDecidedPaths; more > 0 {
		paths = append(paths, fmt.Sprintf("… and %d more", more))
	}
	d.Paths = paths
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
