package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// meters are what is counted and measured.
type meters struct {
	duration metric.Float64Histogram
	calls    metric.Int64Counter
	refusals metric.Int64Counter
	records  metric.Int64Counter
	flushes  metric.Float64Histogram
}

// callBuckets are those of the conventions, in seconds, with three below: most calls here take less than their first.
func callBuckets() []float64 {
	return []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}
}

func flushBuckets() []float64 {
	return []float64{.0001, .0005, .001, .002, .005, .01, .05, .1, .5, 1, 5}
}

func (m *meters) make(from metric.Meter, o Options) error {
	var failed [7]error
	m.duration, failed[0] = from.Float64Histogram("mcp.server.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("How long requests to call tools took, without their wait in the order of their session."), metric.WithExplicitBucketBoundaries(callBuckets()...))
	m.calls, failed[1] = from.Int64Counter("orchestra.calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls of tools, also of clients' own, by outcome: done, refused, failed (the tool says so), asked (the client is to ask its user)."))
	m.refusals, failed[2] = from.Int64Counter("orchestra.refusals", metric.WithUnit("{call}"), metric.WithDescription("Refused calls by error_type."))
	m.records, failed[3] = from.Int64Counter("orchestra.records", metric.WithUnit("{record}"), metric.WithDescription("Lines that this server wrote into the ledger."))
	m.flushes, failed[4] = from.Float64Histogram("orchestra.flush.duration", metric.WithUnit("s"),
		metric.WithDescription("How long writes took, with their flush to disk: of groups of records, and of entries of the journal."), metric.WithExplicitBucketBoundaries(flushBuckets()...))
	_, failed[5] = from.Int64ObservableGauge("orchestra.approvals.pending", metric.WithUnit("{request}"),
		metric.WithDescription("Requests of the workspace that wait for an answer of the operator."), counting(o.Pending))
	_, failed[6] = from.Int64ObservableGauge("orchestra.commands.running", metric.WithUnit("{command}"),
		metric.WithDescription("Commands that run."), counting(o.Running))
	return errors.Join(failed[:]...)
}

func counting(count func() int) metric.Int64ObservableGaugeOption {
	return metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(count()))
		return nil
	})
}

// The words for how a call ended.
const (
	outcomeDone    = "done"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
	outcomeAsked   = "asked"
)

func outcomeOf(r hooks.Result) string {
	switch {
	case r.Refusal != nil:
		return outcomeRefused
	case r.IsError:
		return outcomeFailed
	case r.InLine != nil || r.Unanswered:
		return outcomeAsked
	}
	return outcomeDone
}

// toolError is what the conventions call a result with isError.
const toolError = "tool_error"

// took measures a request of the protocol.
func (m *meters) took(tool string, r hooks.Result, took time.Duration) {
	about := []attribute.KeyValue{methodName, operationName, attribute.String(keyTool, tool)}
	if r.IsError {
		about = append(about, attribute.String(keyError, toolError))
	}
	m.duration.Record(context.Background(), took.Seconds(), metric.WithAttributes(about...))
}

func (m *meters) counted(tool string, r hooks.Result) {
	ctx := context.Background()
	m.calls.Add(ctx, 1, metric.WithAttributes(attribute.String(keyTool, tool), attribute.String(keyOutcome, outcomeOf(r))))
	if r.Refusal != nil {
		m.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String(keyRefusal, codeOf(r.Refusal))))
	}
}

// codeOf is a refusal's code if it is one of ours: an embedder's hook can make up others.
func codeOf(r *refusal.Refusal) string {
	if _, known := refusal.Lookup(r.Code()); known {
		return string(r.Code())
	}
	return other
}

// Recorded tells of a group of records that got into the ledger.
func (t *Telemetry) Recorded(records int, took time.Duration) {
	t.records.Add(context.Background(), int64(records))
	t.flushed("ledger", took)
}

// Journaled tells of an entry of the journal.
func (t *Telemetry) Journaled(took time.Duration) { t.flushed("journal", took) }

func (t *Telemetry) flushed(store string, took time.Duration) {
	t.flushes.Record(context.Background(), took.Seconds(), metric.WithAttributes(attribute.String("orchestra.store", store)))
}
