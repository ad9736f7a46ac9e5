package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// metricExporter sends metrics: the three kinds that meters makes, and no others.
type metricExporter struct{ to *collector }

var _ sdkmetric.Exporter = metricExporter{}

func (metricExporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

func (metricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (metricExporter) ForceFlush(context.Context) error { return nil }
func (metricExporter) Shutdown(context.Context) error   { return nil }

func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	out := &metricspb.ResourceMetrics{Resource: &resourcepb.Resource{Attributes: pairs(*all.Resource.Set())}}
	for _, s := range all.ScopeMetrics {
		scoped := &metricspb.ScopeMetrics{Scope: &commonpb.InstrumentationScope{Name: s.Scope.Name, Version: s.Scope.Version}}
		for _, m := range s.Metrics {
			if made := metricOf(m); made != nil {
				scoped.Metrics = append(scoped.Metrics, made)
			}
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scoped)
	}
	e.to.send(ctx, "v1/metrics", &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{out}})
	return nil
}

const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// metricOf is nil for a kind that there is none of.
func metricOf(m metricdata.Metrics) *metricspb.Metric {
	out := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		out.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{
			DataPoints: numbers(data.DataPoints), IsMonotonic: data.IsMonotonic, AggregationTemporality: cumulative,
		}}
	case metricdata.Gauge[int64]:
		out.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(data.DataPoints)}}
	case metricdata.Histogram[float64]:
		out.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{DataPoints: histograms(data.DataPoints), AggregationTemporality: cumulative}}
	default:
		return nil
	}
	return out
}

func numbers(points []metricdata.DataPoint[int64]) (out []*metricspb.NumberDataPoint) {
	for _, p := range points {
		out = append(out, &metricspb.NumberDataPoint{
			Attributes: pairs(p.Attributes), StartTimeUnixNano: uint64(max(p.StartTime.UnixNano(), 0)), TimeUnixNano: uint64(p.Time.UnixNano()),
			Value: &metricspb.NumberDataPoint_AsInt{AsInt: p.Value},
		})
	}
	return out
}

func histograms(points []metricdata.HistogramDataPoint[float64]) (out []*metricspb.HistogramDataPoint) {
	for _, p := range points {
		h := &metricspb.HistogramDataPoint{
			Attributes: pairs(p.Attributes), StartTimeUnixNano: uint64(p.StartTime.UnixNano()), TimeUnixNano: uint64(p.Time.UnixNano()),
			Count: p.Count, Sum: &p.Sum, BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
		}
		if least, is := p.Min.Value(); is {
			h.Min = &least
		}
		if most, is := p.Max.Value(); is {
			h.Max = &most
		}
		out = append(out, h)
	}
	return out
}

// pairs are attributes, which are texts in all that is measured here.
func pairs(set attribute.Set) (out []*commonpb.KeyValue) {
	for _, kv := range set.ToSlice() {
		out = append(out, &commonpb.KeyValue{
			Key: string(kv.Key), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: kv.Value.Emit()}},
		})
	}
	return out
}
