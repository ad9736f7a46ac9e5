package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// exposition is metrics in version 0.0.4 of the text format, https://prometheus.io/docs/instrumenting/exposition_formats/.
//
// It is written here because Prometheus's own library takes time and memory of each process that it is linked into, where
// hardly any is ever asked for this. Its parser reads it in the tests.
type exposition struct {
	strings.Builder
	metrics otlptranslator.MetricNamer
	labels  otlptranslator.LabelNamer
}

// exposed is all, with target_info, which says whose they are: not with the SDK's resource, to which it adds what the
// environment says of a server. A kind of metric that is not made here is an error.
func exposed(about *resource.Resource, all []metricdata.ScopeMetrics) (string, error) {
	x := &exposition{metrics: otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)}
	for _, scope := range all {
		for _, m := range scope.Metrics {
			if err := x.add(m); err != nil {
				return "", fmt.Errorf("metric %s: %w", m.Name, err)
			}
		}
	}
	which, err := x.labelsOf(*about.Set())
	if err != nil {
		return "", fmt.Errorf("the resource: %w", err)
	}
	x.head(otlptranslator.TargetInfoMetricName, "Which server this is.", "gauge")
	x.sample(otlptranslator.TargetInfoMetricName, which, "1")
	return x.String(), nil
}

func (x *exposition) add(m metricdata.Metrics) error {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if !data.IsMonotonic || data.Temporality != metricdata.CumulativeTemporality {
			break
		}
		return x.numbers(m, "counter", otlptranslator.MetricTypeMonotonicCounter, data.DataPoints)
	case metricdata.Gauge[int64]:
		return x.numbers(m, "gauge", otlptranslator.MetricTypeGauge, data.DataPoints)
	case metricdata.Histogram[float64]:
		if data.Temporality != metricdata.CumulativeTemporality {
			break
		}
		return x.histograms(m, data.DataPoints)
	}
	return fmt.Errorf("%T is not shown", m.Data)
}

func (x *exposition) numbers(m metricdata.Metrics, kind string, of otlptranslator.MetricType, points []metricdata.DataPoint[int64]) error {
	name, err := x.family(m, kind, of)
	if err != nil {
		return err
	}
	return eachOf(x, points, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes },
		func(p metricdata.DataPoint[int64], labels string) {
			x.sample(name, labels, strconv.FormatInt(p.Value, 10))
		})
}

func (x *exposition) histograms(m metricdata.Metrics, points []metricdata.HistogramDataPoint[float64]) error {
	name, err := x.family(m, "histogram", otlptranslator.MetricTypeHistogram)
	if err != nil {
		return err
	}
	return eachOf(x, points, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes },
		func(p metricdata.HistogramDataPoint[float64], labels string) { x.histogram(name, labels, p) })
}

// histogram has in each bucket also what is in those below, and one for all.
func (x *exposition) histogram(name, labels string, p metricdata.HistogramDataPoint[float64]) {
	var upTo uint64
	for i, n := range p.BucketCounts {
		bound := math.Inf(1)
		if i < len(p.Bounds) {
			bound = p.Bounds[i]
		}
		upTo += n
		x.sample(name+"_bucket", joined(labels, `le="`+number(bound)+`"`), strconv.FormatUint(upTo, 10))
	}
	x.sample(name+"_sum", labels, number(p.Sum))
	x.sample(name+"_count", labels, strconv.FormatUint(p.Count, 10))
}

// eachOf goes through the series of a metric in the order of their labels.
func eachOf[P any](x *exposition, points []P, set func(P) attribute.Set, show func(P, string)) error {
	type series struct {
		point  P
		labels string
	}
	all := make([]series, len(points))
	for i, p := range points {
		labels, err := x.labelsOf(set(p))
		if err != nil {
			return err
		}
		all[i] = series{p, labels}
	}
	slices.SortFunc(all, func(a, b series) int { return cmp.Compare(a.labels, b.labels) })
	for _, s := range all {
		show(s.point, s.labels)
	}
	return nil
}

func (x *exposition) family(m metricdata.Metrics, kind string, of otlptranslator.MetricType) (name string, err error) {
	if name, err = x.metrics.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: of}); err == nil {
		x.head(name, m.Description, kind)
	}
	return name, err
}

func (x *exposition) head(name, help, kind string) {
	fmt.Fprintf(x, "# HELP %s %s\n# TYPE %s %s\n", name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help), name, kind)
}

func (x *exposition) sample(name, labels, value string) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(x, "%s%s %s\n", name, labels, value)
}

func (x *exposition) labelsOf(set attribute.Set) (all string, err error) {
	value := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for _, kv := range set.ToSlice() {
		name, err := x.labels.Build(string(kv.Key))
		if err != nil {
			return "", err
		}
		all = joined(all, name+`="`+value.Replace(strings.ToValidUTF8(kv.Value.Emit(), "\uFFFD"))+`"`)
	}
	return all, nil
}

func joined(labels, label string) string {
	if labels == "" {
		return label
	}
	return labels + "," + label
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
