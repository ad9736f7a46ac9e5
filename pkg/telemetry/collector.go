package telemetry

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// collector is where the exporters of the OpenTelemetry project send. These read the environment by themselves, so they are
// given every option that it could set, and what they ask for goes to the address of the settings, whatever it was before.
//
// What fails is logged here and is no error: those of exporters go to a handler of the whole process, with the address and
// what the collector says.
type collector struct {
	base    *url.URL
	headers map[string]string
	about   *resource.Resource
	through *http.Transport
	log     *seldom
	// life ends what is being sent, for the exporters send on for a while after they were shut down.
	life context.Context
	end  context.CancelFunc
}

// firstWait is before a collector that is busy is asked again; the wait grows, until exportTime has passed.
const firstWait = time.Second

func newCollector(endpoint, headers string, about *resource.Resource, log zerolog.Logger) (*collector, error) {
	base, err := url.Parse(endpoint)
	if err != nil {
		return nil, errEndpoint
	}
	if base.Path == "" {
		base.Path = "/" // without which what is joined to it is no path
	}
	c := &collector{base: base, headers: map[string]string{}, about: about, log: &seldom{log: log}}
	if user := base.User; user != nil {
		password, _ := user.Password()
		c.headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
	}
	if err := c.addHeaders(headers); err != nil {
		return nil, err
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.through = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 2 * metricsTime}
	return c, nil
}

// errEndpoint is without the address, which may hold a secret.
var errEndpoint = errors.New("telemetry.endpoint is no address")

func (c *collector) addHeaders(list string) error {
	for entry := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, _ := strings.Cut(entry, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); err != nil || name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, separated by commas, with values escaped as in a URL")
		}
		c.headers[http.CanonicalHeaderKey(name)] = value
	}
	return nil
}

// sender is one exporter's way to the collector. An exporter sends one message after the other.
type sender struct {
	*collector
	address *url.URL
	last    error // of the message's last attempt
}

func (c *collector) sender(name string) (s *sender, plain string, client *http.Client) {
	s = &sender{collector: c, address: c.base.JoinPath(name)}
	shown := *s.address
	shown.User, shown.RawQuery = nil, ""
	return s, shown.String(), &http.Client{
		Transport: s, Timeout: exportTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // elsewhere is not what was asked for
	}
}

// RoundTrip implements http.RoundTripper.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL, r.Host = s.address, ""
	answer, err := s.through.RoundTrip(r)
	if s.last = err; err == nil && answer.StatusCode > 299 {
		s.last = fmt.Errorf("the answer was %s", answer.Status)
	}
	return answer, err
}

// sends has a message sent, until the collector's end, and tells of what fails.
func (s *sender) sends(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	s.last = nil
	if err := send(ctx); err != nil {
		if s.last == nil {
			s.last = errors.New("the collector did not take all, or not in time") // the error may have its words and the address
		}
		s.log.warn(s.last, "telemetry could not be sent to telemetry.endpoint, and is lost")
	}
	return nil
}

// spanSender sends spans as those of this server alone: the SDK adds what the environment says of one.
type spanSender struct {
	sdktrace.SpanExporter
	*sender
}

func (c *collector) spans() (sdktrace.SpanExporter, error) {
	s, address, client := c.sender("v1/traces")
	to, err := otlptrace.New(context.Background(), otlptracehttp.NewClient(
		otlptracehttp.WithEndpointURL(address), otlptracehttp.WithHTTPClient(client), otlptracehttp.WithTLSClientConfig(nil),
		otlptracehttp.WithHeaders(c.headers), otlptracehttp.WithTimeout(exportTime),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf), otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: firstWait, MaxInterval: exportTime, MaxElapsedTime: exportTime}),
	))
	if err != nil {
		return nil, errEndpoint
	}
	return spanSender{to, s}, nil
}

type ownSpan struct {
	sdktrace.ReadOnlySpan
	about *resource.Resource
}

func (s ownSpan) Resource() *resource.Resource { return s.about }

// ExportSpans implements sdktrace.SpanExporter.
func (s spanSender) ExportSpans(ctx context.Context, all []sdktrace.ReadOnlySpan) error {
	own := make([]sdktrace.ReadOnlySpan, len(all))
	for i, span := range all {
		own[i] = ownSpan{span, s.about}
	}
	return s.sends(ctx, func(ctx context.Context) error { return s.SpanExporter.ExportSpans(ctx, own) })
}

// metricSender is what spanSender is, of metrics.
type metricSender struct {
	sdkmetric.Exporter
	*sender
}

func (c *collector) metrics() (sdkmetric.Exporter, error) {
	s, address, client := c.sender("v1/metrics")
	to, err := otlpmetrichttp.New(context.Background(),
		otlpmetrichttp.WithEndpointURL(address), otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithTLSClientConfig(nil),
		otlpmetrichttp.WithHeaders(c.headers), otlpmetrichttp.WithTimeout(exportTime), otlpmetrichttp.WithCompression(otlpmetrichttp.NoCompression),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: firstWait, MaxInterval: exportTime, MaxElapsedTime: exportTime}),
		otlpmetrichttp.WithTemporalitySelector(sdkmetric.CumulativeTemporalitySelector),
		otlpmetrichttp.WithAggregationSelector(sdkmetric.DefaultAggregationSelector),
	)
	if err != nil {
		return nil, errEndpoint
	}
	return metricSender{to, s}, nil
}

// Export implements sdkmetric.Exporter.
func (s metricSender) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	own := metricdata.ResourceMetrics{Resource: s.about, ScopeMetrics: all.ScopeMetrics}
	return s.sends(ctx, func(ctx context.Context) error { return s.Exporter.Export(ctx, &own) })
}
