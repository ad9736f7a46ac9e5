package telemetry_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/telemetry"
)

// hostile sets all that the libraries read of the environment to what would send elsewhere, or otherwise.
func hostile(t *testing.T, elsewhere, certificate string) {
	t.Helper()
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		for name, value := range map[string]string{
			"ENDPOINT": elsewhere, "HEADERS": "x-inherited=s3cret,s3cret", "CERTIFICATE": certificate, "INSECURE": "true", "COMPRESSION": "gzip",
			"PROTOCOL": "http/json", "TIMEOUT": "1", "CLIENT_CERTIFICATE": certificate, "CLIENT_KEY": certificate,
			"TEMPORALITY_PREFERENCE": "delta", "DEFAULT_HISTOGRAM_AGGREGATION": "base2_exponential_bucket_histogram",
		} {
			t.Setenv("OTEL_EXPORTER_OTLP_"+signal+name, value)
		}
	}
	for name, value := range map[string]string{
		"OTEL_RESOURCE_ATTRIBUTES": "inherited=s3cret,s3cret", "OTEL_SERVICE_NAME": "s3cret", "OTEL_TRACES_SAMPLER": "always_off",
		"OTEL_BSP_EXPORT_TIMEOUT": "1", "OTEL_BSP_MAX_QUEUE_SIZE": "1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1", "OTEL_BSP_SCHEDULE_DELAY": "1",
		"OTEL_METRIC_EXPORT_TIMEOUT": "1", "OTEL_METRIC_EXPORT_INTERVAL": "1", "OTEL_METRICS_EXEMPLAR_FILTER": "always_on",
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "0", "OTEL_ATTRIBUTE_COUNT_LIMIT": "0", "OTEL_GO_X_CARDINALITY_LIMIT": "1",
	} {
		t.Setenv(name, value)
	}
}

// got is what a collector gets, whole.
type got struct {
	mu      sync.Mutex
	bodies  map[string][]byte
	headers []http.Header
}

func (g *got) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bodies == nil {
		g.bodies = map[string][]byte{}
	}
	g.bodies[r.RequestURI], g.headers = body, append(g.headers, r.Header)
}

// Only the options say where and how something is sent, and as whom; what the libraries say of the environment is not logged.
func TestWhatTheEnvironmentSays(t *testing.T) {
	var strayed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer elsewhere.Close()
	hostile(t, elsewhere.URL, writeCertificate(t, httptest.NewUnstartedServer(nil)))
	all := new(logged)
	telemetry.TakeErrors(zerolog.New(all))

	here := new(got)
	s := httptest.NewServer(here)
	defer s.Close()
	none := func() int { return 0 }
	sends := check.Value(telemetry.Start(telemetry.Options{
		Endpoint: strings.Replace(s.URL, "http://", "http://user:pass@", 1) + "/a%2Fb?key=1", Headers: "x-key=own", Scraped: true,
		Tools: []string{"probe"}, Pending: none, Running: none, Logger: zerolog.New(all),
	}))(t)
	calls(t.Context(), sends)
	_, second := sends.Begin(t.Context(), &hooks.Call{Tool: "another"}, nil)
	second.End(hooks.Result{IsError: true}, "")
	page := httptest.NewRecorder()
	sends.ServeMetrics(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	check.OK(t, sends.Shutdown(t.Context()))

	var spans tracepb.TracesData
	var metrics metricspb.MetricsData
	check.NoError(t, proto.Unmarshal(here.bodies["/a%2Fb/v1/traces?key=1"], &spans))
	check.NoError(t, proto.Unmarshal(here.bodies["/a%2Fb/v1/metrics?key=1"], &metrics))
	check.Must(t, len(here.bodies) == 2 && len(spans.ResourceSpans) == 1 && len(metrics.ResourceMetrics) == 1, "got %v", here.bodies)
	check.Equal(t, len(spans.ResourceSpans[0].ScopeSpans[0].Spans), 3, "spans, in one message")
	check.That(t, len(spans.ResourceSpans[0].ScopeSpans[0].Spans[1].Attributes) > 1, "no attributes: %v", &spans)
	for _, m := range metrics.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if h := m.GetHistogram(); m.Name == "mcp.server.operation.duration" {
			check.That(t, h.GetAggregationTemporality() == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE &&
				len(h.DataPoints[0].Exemplars) == 0, "%v", m)
		}
	}
	for _, h := range here.headers {
		check.Equal(t, h.Get("X-Key")+h.Get("X-Inherited")+h.Get("Content-Encoding")+h.Get("Content-Type"), "ownapplication/x-protobuf", "headers")
		check.Equal(t, h.Get("Authorization"), "Basic dXNlcjpwYXNz", "who sends")
	}
	told := bytes.Join([][]byte{here.bodies["/a%2Fb/v1/traces?key=1"], here.bodies["/a%2Fb/v1/metrics?key=1"], page.Body.Bytes()}, nil)
	check.That(t, bytes.Contains(told, []byte("orchestra-mcp")), "told %q", told)
	for _, what := range []string{"s3cret", "inherited", "otel_scope", "overflow"} {
		check.That(t, !bytes.Contains(told, []byte(what)), "told %q", told)
	}
	check.That(t, !strings.Contains(all.String(), "s3cret"), "logged %q", all)
	check.Equal(t, strayed.Load(), 0, "sent elsewhere")
}

// A collector is trusted by the system's certificates alone, and none is spoken to without encryption where https is asked for.
func TestTheEnvironmentMakesNothingTrusted(t *testing.T) {
	here := new(got)
	s := httptest.NewUnstartedServer(here)
	s.StartTLS()
	defer s.Close()
	hostile(t, "http://127.0.0.1:1", writeCertificate(t, s))
	sends, log := started(t, s.URL)
	calls(t.Context(), sends)
	check.OK(t, sends.Shutdown(t.Context()))
	check.That(t, len(here.bodies) == 0 && strings.Contains(log.String(), "certificate"), "got %v, logged %s", here.bodies, log)
}

func writeCertificate(t *testing.T, s *httptest.Server) string {
	t.Helper()
	if s.Certificate() == nil {
		s.StartTLS()
		defer s.Close()
	}
	name := filepath.Join(t.TempDir(), "certificate.pem")
	check.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return name
}
