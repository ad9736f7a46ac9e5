package telemetry

import (
	"io"
	"net/http"

	"github.com/rs/zerolog"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// page shows all metrics that are here, and none that the libraries have of the process.
type page struct {
	read  *sdkmetric.ManualReader
	about *resource.Resource
	log   zerolog.Logger
}

// ServeMetrics answers with all metrics in the text format of Prometheus, with names as its rules for OpenTelemetry have them.
func (t *Telemetry) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	if t.page == nil {
		http.Error(w, "this server began without HTTP, and keeps no metrics to be read", http.StatusNotFound)
		return
	}
	var all metricdata.ResourceMetrics
	err := t.page.read.Collect(r.Context(), &all)
	var text string
	if err == nil {
		text, err = exposed(t.page.about, all.ScopeMetrics)
	}
	if err != nil {
		t.page.log.Warn().Err(err).Msg("the metrics cannot be read")
		http.Error(w, "the metrics cannot be read; the server's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, text)
}
