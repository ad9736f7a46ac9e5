package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/telemetry"
)

// scraped is what the page of a server has.
func scraped(t *testing.T, sends *telemetry.Telemetry) *httptest.ResponseRecorder {
	t.Helper()
	page := httptest.NewRecorder()
	sends.ServeMetrics(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return page
}

func startScraped(t *testing.T, version string) *telemetry.Telemetry {
	t.Helper()
	return check.Value(telemetry.Start(telemetry.Options{
		Scraped: true, Version: version, Instance: "one", Tools: []string{"b", "a"}, Pending: func() int { return 3 }, Running: func() int { return 0 },
	}))(t)
}

// The page is text that Prometheus reads: its names, the sums of its buckets, and labels with all that has a meaning in it.
func TestExposition(t *testing.T) {
	t.Parallel()
	const hostile = "1\"} 1\nmade_up 1\\\xff"
	sends := startScraped(t, hostile)
	for _, tool := range []string{"b", "a", "unknown"} {
		_, w := sends.Begin(t.Context(), &hooks.Call{Tool: tool}, nil)
		w.End(hooks.Result{IsError: true, Refusal: refusal.New(refusal.RoleForbidden, "no")}, "")
	}
	sends.Recorded(5, 50*time.Microsecond)
	sends.Journaled(4 * time.Millisecond)
	sends.Journaled(time.Minute)
	page := scraped(t, sends)
	check.OK(t, sends.Shutdown(t.Context()))
	check.Equal(t, page.Header().Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8", "type")
	for _, want := range []string{`# HELP orchestra_approvals_pending Requests of the workspace that wait for an answer of the operator.
# TYPE orchestra_approvals_pending gauge
orchestra_approvals_pending 3
`, `
# TYPE orchestra_calls_total counter
orchestra_calls_total{gen_ai_tool_name="_OTHER",orchestra_outcome="refused"} 1
orchestra_calls_total{gen_ai_tool_name="a",orchestra_outcome="refused"} 1
orchestra_calls_total{gen_ai_tool_name="b",orchestra_outcome="refused"} 1
`, `
# TYPE orchestra_flush_duration_seconds histogram
orchestra_flush_duration_seconds_bucket{orchestra_store="journal",le="0.0001"} 0
`, `
orchestra_flush_duration_seconds_bucket{orchestra_store="journal",le="0.002"} 0
orchestra_flush_duration_seconds_bucket{orchestra_store="journal",le="0.005"} 1
`, `
orchestra_flush_duration_seconds_bucket{orchestra_store="journal",le="5"} 1
orchestra_flush_duration_seconds_bucket{orchestra_store="journal",le="+Inf"} 2
orchestra_flush_duration_seconds_sum{orchestra_store="journal"} 60.004
orchestra_flush_duration_seconds_count{orchestra_store="journal"} 2
orchestra_flush_duration_seconds_bucket{orchestra_store="ledger",le="0.0001"} 1
`, `
orchestra_records_total 5
`} {
		check.That(t, strings.Contains(page.Body.String(), want), "no %s in\n%s", want, page.Body)
	}

	parser := expfmt.NewTextParser(model.LegacyValidation)
	families := check.Value(parser.TextToMetricFamilies(page.Body))(t)
	check.Equal(t, len(families), 7, "metrics") // no request of the protocol: without durations
	for _, label := range families["target_info"].Metric[0].Label {
		if label.GetName() == "service_version" {
			check.Equal(t, label.GetValue(), strings.ToValidUTF8(hostile, "\uFFFD"))
		}
	}
	for _, m := range families["orchestra_flush_duration_seconds"].Metric {
		buckets := m.Histogram.Bucket
		check.Equal(t, buckets[len(buckets)-1].GetCumulativeCount(), m.Histogram.GetSampleCount())
	}
}

// A page that cannot be made is none that Prometheus takes.
func TestNoPageBehindTheEnd(t *testing.T) {
	t.Parallel()
	sends := startScraped(t, "1")
	check.OK(t, sends.Shutdown(t.Context()))
	check.Equal(t, scraped(t, sends).Code, http.StatusInternalServerError, "the page")
}
