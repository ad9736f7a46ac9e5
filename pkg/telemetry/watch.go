package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// The names of attributes, and those that are the same in every call.
const (
	keyTool    = "gen_ai.tool.name"
	keyError   = "error.type"
	keyRefusal = "orchestra.error_type"
	keyOutcome = "orchestra.outcome"
)

var (
	methodName    = attribute.String("mcp.method.name", "tools/call")
	operationName = attribute.String("gen_ai.operation.name", "execute_tool")
)

// Incoming is what the protocol's side knows of a call.
type Incoming struct {
	// Transport is "pipe" or "tcp".
	Transport string
	// TraceParent and TraceState are of W3C Trace Context, as the client sent them.
	TraceParent, TraceState string
	// Protocol is the revision that the client speaks.
	Protocol string
}

type incomingKey struct{}

// Arrived gives the context of a call that a client has made as a request of the protocol. What is wrong with a trace context
// makes it none.
func (t *Telemetry) Arrived(ctx context.Context, in Incoming) context.Context {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": in.TraceParent, "tracestate": in.TraceState})
	return context.WithValue(ctx, incomingKey{}, &in)
}

// watch sees one call.
type watch struct {
	*Telemetry
	call  *hooks.Call
	tool  string
	began time.Time
	// within: another call makes this one, or left it to be done.
	within bool
	// request is what the call came with; nil for one that is no request of the protocol: within another, of a client's own
	// tools, or an embedder's.
	request *Incoming

	ctx  context.Context // with the span
	span trace.Span      // nil without traces
	part trace.Span      // nil between parts
}

type watchKey struct{}

var _ hooks.Watch = (*watch)(nil)

// Begin watches a call; see hooks.Options.Watch.
func (t *Telemetry) Begin(ctx context.Context, call *hooks.Call, behind hooks.Watch) (context.Context, hooks.Watch) {
	w := &watch{Telemetry: t, call: call, tool: oneOf(call.Tool, t.tools), began: time.Now()}
	w.within = ctx.Value(watchKey{}) != nil
	before, isBehind := behind.(*watch)
	if isBehind {
		w.within = true
	}
	if !w.within {
		w.request, _ = ctx.Value(incomingKey{}).(*Incoming)
	}
	ctx = context.WithValue(ctx, watchKey{}, w)
	if t.tracer == nil {
		return ctx, w
	}
	if isBehind && before.span != nil {
		ctx = trace.ContextWithSpan(ctx, before.span)
	}
	name, kind := "execute_tool "+w.tool, trace.SpanKindInternal
	about := []attribute.KeyValue{operationName, attribute.String(keyTool, w.tool), attribute.String("orchestra.call.id", call.ID)}
	if in := w.request; in != nil {
		name, kind = "tools/call "+w.tool, trace.SpanKindServer
		about = append(about, methodName, attribute.String("network.transport", in.Transport), attribute.String("mcp.protocol.version", in.Protocol))
	}
	ctx, w.span = t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	w.ctx = ctx
	return ctx, w
}

// Enter implements hooks.Watch.
func (w *watch) Enter(p hooks.Part) {
	if w.span == nil || !w.span.IsRecording() {
		return
	}
	w.leave()
	_, w.part = w.tracer.Start(w.ctx, string(p))
}

func (w *watch) leave() {
	if w.part != nil {
		w.part.End()
		w.part = nil
	}
}

// Judged implements hooks.Watch. The hooks that operators and embedders add are named by them, and share one name here.
func (w *watch) Judged(step, verdict string) {
	if w.part == nil {
		return
	}
	if !w.steps[step] {
		step = "hook"
	}
	w.part.AddEvent(step, trace.WithAttributes(attribute.String("orchestra.verdict", verdict)))
}

// End implements hooks.Watch.
func (w *watch) End(result hooks.Result, hook string) {
	if !w.within {
		w.counted(w.tool, result)
	}
	if w.request != nil {
		w.took(w.tool, result, time.Since(w.began))
	}
	if w.span == nil {
		return
	}
	if w.part != nil && result.IsError {
		w.part.SetStatus(codes.Error, "")
	}
	w.leave()
	if w.span.IsRecording() {
		w.span.SetAttributes(w.found(result, hook)...)
		if result.IsError {
			w.span.SetStatus(codes.Error, "") // the reason can name paths
		}
	}
	w.span.End()
}

// found are the attributes that are known at the end.
func (w *watch) found(result hooks.Result, hook string) []attribute.KeyValue {
	about := []attribute.KeyValue{attribute.String(keyOutcome, outcomeOf(result))}
	add := func(key, value string) {
		if value != "" {
			about = append(about, attribute.String(key, text(value)))
		}
	}
	add("orchestra.intent.id", w.call.RecordedIntent())
	if result.IsError {
		add(keyError, toolError)
	}
	if result.Refusal != nil {
		add(keyRefusal, codeOf(result.Refusal))
		if name, _, _ := strings.Cut(hook, "/"); hook != "" {
			add("orchestra.refused_by", oneOf(name, w.steps))
		}
	}
	if o := w.call.Outcome(); o != nil {
		add("orchestra.record.id", o.RecordID)
		if o.RecordID != "" {
			add("orchestra.mutation_class", string(o.Class.Class))
			add("orchestra.mutation_class.evidence", string(o.Class.Evidence))
		}
		if o.Command != nil {
			add("orchestra.sandbox", o.Command.Sandbox)
		}
	}
	if w.options.Paths {
		about = append(about, w.paths()...)
	}
	return about
}

// What a span has at most of the paths of a call, and of a path or line in bytes.
const (
	maxPaths = 32
	maxText  = 1024
)

func (w *watch) paths() (about []attribute.KeyValue) {
	var paths []string
	for _, f := range w.call.Effects.Files {
		for _, p := range f.Paths() {
			if len(paths) < maxPaths {
				paths = append(paths, text(p))
			}
		}
	}
	if len(paths) > 0 {
		about = append(about, attribute.StringSlice("orchestra.paths", paths))
	}
	if c := w.call.Effects.Command; c != nil {
		about = append(about, attribute.String("orchestra.command", text(redact.Text(c.Line))))
	}
	return about
}

// text cuts a text, and makes it one that a message can hold: one that is not valid UTF-8 would keep a whole batch back.
func text(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "\uFFFD") }
