package telemetry

import (
	"log"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// newPage makes what metrics are read through, and who shows them: all that are here, and none that the libraries have of
// the process.
func (o Options) newPage(about *resource.Resource) (sdkmetric.Reader, http.Handler, error) {
	registry, which := prometheus.NewRegistry(), prometheus.Labels{}
	for _, kv := range about.Attributes() {
		which[strings.ReplaceAll(string(kv.Key), ".", "_")] = kv.Value.Emit()
	}
	// The exporter's own would have what the environment says of a server.
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "target_info", Help: "Which server this is.", ConstLabels: which})
	info.Set(1)
	if err := registry.Register(info); err != nil {
		return nil, nil, err
	}
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutTargetInfo(), exporter.WithoutScopeInfo())
	return reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: log.New(o.Logger, "", 0)}), err
}

// ServeMetrics answers with all metrics in the text format of Prometheus, with names as its rules for OpenTelemetry have them.
func (t *Telemetry) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	if t.page == nil {
		http.Error(w, "this server began without HTTP, and keeps no metrics to be read", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	t.page.ServeHTTP(w, r)
}
