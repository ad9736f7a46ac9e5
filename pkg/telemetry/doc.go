// Package telemetry tells operators how calls go: traces and metrics in the terms of OpenTelemetry, sent over OTLP to where
// the operator's settings say, and metrics in the text format of Prometheus for who comes to read them.
//
// It promises that
//
//   - nothing of it runs before [Start], and nothing is sent without an endpoint, whatever the environment says;
//   - no call waits for a collector: what one does not take in time is dropped, and so is what is too much;
//   - no content of a file, no argument, no output and no reason of a refusal is in anything that it gives out; paths and
//     lines of commands are only where [Options.Paths] asks for them, and then cut and in traces alone;
//   - the series of metrics are bounded: tools that the server has, codes of the catalogue, steps of the gate, and one for
//     all others.
//
// It does not promise that a call has a span: the client's trace may not be sampled, and spans are dropped under load. What
// happened stands in the ledger.
//
// Names are those of the conventions of OpenTelemetry for MCP and GenAI, where these have one; others begin with orchestra.
// Traces and metrics leave by the exporters of the OpenTelemetry project. What these read of the environment is set against
// it, so that only [Options] say where and how they send. The page for Prometheus is written here.
package telemetry
