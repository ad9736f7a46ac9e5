package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
)

// scope names who made the spans and metrics.
const scope = "github.com/intentgov/orchestra-mcp"

// Options are what a Telemetry is made of.
type Options struct {
	// Endpoint is where traces and metrics are sent, without the last part of the path; "" sends nothing, and makes no traces.
	Endpoint string
	// Headers go with all that is sent, as OTEL_EXPORTER_OTLP_HEADERS has them: name=value, separated by commas, each value
	// escaped as in a URL.
	Headers string
	// Scraped keeps the metrics for ServeMetrics.
	Scraped bool
	// Paths has spans name the files and the line of the command that a call is about.
	Paths bool
	// Version is the program's; Instance tells this process from others.
	Version, Instance string
	// Tools are the names that a call can have; what is none of them is counted as one.
	Tools []string
	// Pending counts the requests that wait for an answer of the operator, Running the commands that run. They are asked
	// when metrics are read or sent.
	Pending, Running func() int
	Logger           zerolog.Logger
}

// Telemetry watches calls. It is safe for concurrent use.
type Telemetry struct {
	options Options
	tools   map[string]bool
	steps   map[string]bool
	to      *collector // nil without an endpoint, as the next two
	tracer  trace.Tracer
	spans   *sdktrace.TracerProvider
	metrics *sdkmetric.MeterProvider
	page    *page // nil unless scraped
	meters
}

// What waits to be sent, in spans, and how long it waits. A call has about ten.
const (
	maxWaiting  = 4096
	batchSize   = 512
	batchTime   = 5 * time.Second
	metricsTime = time.Minute
	exportTime  = 10 * time.Second
)

// maxSeries bounds a metric's series, as the SDK does by itself: it is more than there are.
const maxSeries = 2000

// Start begins to watch. An endpoint or headers that cannot be used are an error.
func Start(o Options) (*Telemetry, error) {
	t := &Telemetry{options: o, tools: setOf(o.Tools), steps: map[string]bool{hooks.StepRole: true}}
	for _, s := range gate.Steps() {
		t.steps[s.Name] = true
	}
	about := resource.NewSchemaless(
		attribute.String("service.name", "orchestra-mcp"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance))
	metrics := []sdkmetric.Option{
		sdkmetric.WithResource(about), sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter), sdkmetric.WithCardinalityLimit(maxSeries),
	}
	if o.Scraped {
		t.page = &page{sdkmetric.NewManualReader(), about, o.Logger}
		metrics = append(metrics, sdkmetric.WithReader(t.page.read))
	}
	if o.Endpoint != "" {
		reader, err := t.send(about)
		if err != nil {
			return nil, err
		}
		metrics = append(metrics, sdkmetric.WithReader(reader))
	}
	t.metrics = sdkmetric.NewMeterProvider(metrics...)
	return t, t.meters.make(t.metrics.Meter(scope), o)
}

// send makes the traces, and what metrics are sent by.
func (t *Telemetry) send(about *resource.Resource) (sdkmetric.Reader, error) {
	o := t.options
	to, err := newCollector(o.Endpoint, o.Headers, about, o.Logger)
	if err != nil {
		return nil, err
	}
	spans, err := to.spans()
	if err != nil {
		return nil, err
	}
	metrics, err := to.metrics()
	if err != nil {
		return nil, err
	}
	t.to = to
	t.spans = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())), sdktrace.WithRawSpanLimits(spanLimits()),
		sdktrace.WithBatcher(spans, sdktrace.WithMaxQueueSize(maxWaiting), sdktrace.WithMaxExportBatchSize(batchSize),
			sdktrace.WithBatchTimeout(batchTime), sdktrace.WithExportTimeout(exportTime)))
	t.tracer = t.spans.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	return sdkmetric.NewPeriodicReader(metrics, sdkmetric.WithInterval(metricsTime), sdkmetric.WithTimeout(exportTime)), nil
}

// spanLimits are those of the SDK, where the environment says nothing.
func spanLimits() sdktrace.SpanLimits {
	return sdktrace.SpanLimits{
		AttributeValueLengthLimit: sdktrace.DefaultAttributeValueLengthLimit, AttributeCountLimit: sdktrace.DefaultAttributeCountLimit,
		EventCountLimit: sdktrace.DefaultEventCountLimit, LinkCountLimit: sdktrace.DefaultLinkCountLimit,
		AttributePerEventCountLimit: sdktrace.DefaultAttributePerEventCountLimit, AttributePerLinkCountLimit: sdktrace.DefaultAttributePerLinkCountLimit,
	}
}

// Shutdown sends what waits, until ctx is done, and ends.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var both sync.WaitGroup
	var spans, metrics error
	if t.spans != nil {
		both.Go(func() { spans = t.spans.Shutdown(ctx) })
	}
	both.Go(func() { metrics = t.metrics.Shutdown(ctx) })
	both.Wait()
	if t.to != nil {
		t.to.end()
	}
	return errors.Join(spans, metrics)
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// other stands for all names that nobody knows beforehand, as in the conventions.
const other = "_OTHER"

func oneOf(name string, known map[string]bool) string {
	if known[name] {
		return name
	}
	return other
}
