package telemetry

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ServeMetrics answers with all metrics in the text format of Prometheus, version 0.0.4, with names as its rules for
// OpenTelemetry have them.
func (t *Telemetry) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	var all metricdata.ResourceMetrics
	if err := t.scraped.Collect(r.Context(), &all); err != nil {
		t.options.Logger.Warn().Err(err).Msg("metrics could not be read")
		http.Error(w, "the metrics could not be read; see the server's log", http.StatusInternalServerError)
		return
	}
	var page page
	page.head("target_info", "Which server this is.", "gauge")
	page.line("target_info", labels(*all.Resource.Set()), "1")
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			page.add(m)
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(page.Bytes())
}

type page struct{ bytes.Buffer }

func (p *page) head(name, help, kind string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) line(name string, labels []string, value string) {
	p.WriteString(name)
	if len(labels) > 0 {
		fmt.Fprintf(p, "{%s}", strings.Join(labels, ","))
	}
	fmt.Fprintf(p, " %s\n", value)
}

func (p *page) add(m metricdata.Metrics) {
	name := legal(m.Name)
	if m.Unit == "s" {
		name += "_seconds"
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		name += "_total"
		p.head(name, m.Description, "counter")
		p.numbers(name, data.DataPoints)
	case metricdata.Gauge[int64]:
		p.head(name, m.Description, "gauge")
		p.numbers(name, data.DataPoints)
	case metricdata.Histogram[float64]:
		p.head(name, m.Description, "histogram")
		for _, point := range data.DataPoints {
			p.histogram(name, point)
		}
	}
}

func (p *page) numbers(name string, points []metricdata.DataPoint[int64]) {
	for _, point := range points {
		p.line(name, labels(point.Attributes), strconv.FormatInt(point.Value, 10))
	}
}

// histogram writes buckets that each hold what is in those below, as the format wants.
func (p *page) histogram(name string, point metricdata.HistogramDataPoint[float64]) {
	about, below := labels(point.Attributes), uint64(0)
	for i, bound := range append(slices.Clone(point.Bounds), math.Inf(1)) {
		below += point.BucketCounts[i]
		p.line(name+"_bucket", append(slices.Clone(about), `le="`+number(bound)+`"`), strconv.FormatUint(below, 10))
	}
	p.line(name+"_sum", about, number(point.Sum))
	p.line(name+"_count", about, strconv.FormatUint(point.Count, 10))
}

func number(f float64) string {
	if math.IsInf(f, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// labels are name="value" each, in the order of the names.
func labels(set attribute.Set) (all []string) {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, kv := range set.ToSlice() {
		all = append(all, legal(string(kv.Key))+`="`+escape.Replace(kv.Value.Emit())+`"`)
	}
	return all
}

// legal makes a name one of Prometheus. Those here are letters, dots and underscores.
func legal(name string) string { return strings.ReplaceAll(name, ".", "_") }
