package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// collector is a receiver of OTLP. A message of its service is, on the wire, the data message that is read here.
type collector struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	raw     bytes.Buffer
	headers []http.Header
	spans   []*tracepb.Span
	metrics map[string]*metricspb.Metric
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, metrics: map[string]*metricspb.Metric{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.headers = append(c.headers, r.Header)
	switch r.URL.Path {
	case "/v1/traces":
		var all tracepb.TracesData
		check.NoError(c.t, proto.Unmarshal(body, &all))
		for _, of := range all.ResourceSpans {
			check.Equal(c.t, attributeOf(of.Resource.Attributes, "service.name"), "orchestra-mcp", "service.name")
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var all metricspb.MetricsData
		check.NoError(c.t, proto.Unmarshal(body, &all))
		for _, of := range all.ResourceMetrics {
			for _, scope := range of.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = m
				}
			}
		}
	default:
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
}

// settings has a server send to the collector.
func (c *collector) settings(o *server.Options) { o.Settings.Telemetry.Endpoint = settings.URL(c.url) }

// received ends the telemetry of a server, behind which all has arrived.
func (c *collector) received(b *bench) {
	b.t.Helper()
	check.OK(b.t, b.server.EndTelemetry(b.t.Context()))
}

// called is the one span of a call of a tool.
func (c *collector) called(tool string) *tracepb.Span {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*tracepb.Span
	for _, s := range c.spans {
		if s.Name == "tools/call "+tool {
			found = append(found, s)
		}
	}
	check.Must(c.t, len(found) == 1, "%d spans of %s", len(found), tool)
	return found[0]
}

func (c *collector) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool { return s.Name == name })
}

// parts are the names of a span's children, in their order.
func (c *collector) parts(of *tracepb.Span) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.children(of) {
		names = append(names, s.Name)
	}
	return names
}

func (c *collector) children(of *tracepb.Span) (all []*tracepb.Span) {
	for _, s := range c.spans {
		if bytes.Equal(s.ParentSpanId, of.SpanId) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *tracepb.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return all
}

func attributeOf(all []*commonpb.KeyValue, key string) string {
	for _, kv := range all {
		if kv.Key == key {
			if list := kv.Value.GetArrayValue(); list != nil {
				return fmt.Sprint(list.Values)
			}
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

// callsTraced makes a call that is part of a client's trace.
func (b *bench) callsTraced(tool string, arguments args, meta mcp.Meta) {
	b.t.Helper()
	result, err := b.client.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments, Meta: meta})
	check.Must(b.t, err == nil && !result.IsError, "%v %v", err, result)
}

// A call is one span, in the client's trace, with its way below it.
func TestACallIsASpan(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			b := start(t, newWorkspace(t), c.settings).connectAs(era)
			s := b.Selects("INT-001")
			b.callsTraced("write_to_file", args{"session": s, "path": "src/new.txt", "content": "x\n"},
				mcp.Meta{"traceparent": "00-" + traceID + "-" + spanID + "-01", "tracestate": "rojo=00f067aa0ba902b7", "baggage": "canary=inbaggage"})
			b.callsTraced("list_intents", args{}, mcp.Meta{"traceparent": "00-not-a-trace", "tracestate": 7})
			b.Refused("SCOPE_VIOLATION", "edit_file", args{"session": s, "path": "docs/x", "old_string": "a", "new_string": "b"})
			c.received(b)

			wrote := c.called("write_to_file")
			check.Equal(t, fmt.Sprintf("%x %x %s %s", wrote.TraceId, wrote.ParentSpanId, wrote.TraceState, wrote.Kind),
				traceID+" "+spanID+" rojo=00f067aa0ba902b7 SPAN_KIND_SERVER", "the parent")
			check.Equal(t, strings.Join(c.parts(wrote), " "), "targets gate plan gate prepare journal execute ledger post-hooks", "parts")
			for key, want := range map[string]string{
				"mcp.method.name": "tools/call", "gen_ai.tool.name": "write_to_file", "gen_ai.operation.name": "execute_tool", "network.transport": "pipe",
				"mcp.protocol.version": era, "orchestra.intent.id": "INT-001", "orchestra.mutation_class": "INTENT_EVOLUTION", "orchestra.outcome": "done",
				"error.type": "", "orchestra.paths": "",
			} {
				check.Equal(t, attributeOf(wrote.Attributes, key), want, "%s", key)
			}
			record := attributeOf(wrote.Attributes, "orchestra.record.id")
			b.wantRecord(record, `"call":"write_to_file"`)
			var judged []string
			for _, part := range c.children(wrote) {
				for _, e := range part.Events {
					judged = append(judged, e.Name+" "+attributeOf(e.Attributes, "orchestra.verdict"))
				}
			}
			check.That(t, slices.Contains(judged, "scope allow") && slices.Contains(judged, "freshness allow"), "steps: %v", judged)

			check.Equal(t, len(c.called("list_intents").ParentSpanId), 0, "the parent of a call with a bad trace context")
			refused := c.called("edit_file")
			check.Equal(t, strings.Join(c.parts(refused), " "), "targets gate", "parts of a refused call")
			check.Equal(t, attributeOf(refused.Attributes, "error.type")+attributeOf(refused.Attributes, "orchestra.error_type")+attributeOf(refused.Attributes, "orchestra.refused_by"),
				"tool_errorSCOPE_VIOLATIONscope", "why")
			check.That(t, refused.Status.Code == tracepb.Status_STATUS_CODE_ERROR && refused.Status.Message == "", "status %v", refused.Status)
			check.That(t, !bytes.Contains(c.raw.Bytes(), []byte("inbaggage")), "baggage was sent on")
		})
	}
}

// A client that does not sample its trace has no spans here, and its calls count.
func TestATraceThatIsNotSampled(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	b := start(t, newWorkspace(t), c.settings).connect()
	b.callsTraced("list_intents", args{}, mcp.Meta{"traceparent": "00-" + traceID + "-" + spanID + "-00"})
	c.received(b)
	check.Equal(t, len(c.spans), 0, "spans")
	check.Equal(t, c.metrics["orchestra.calls"].GetSum().DataPoints[0].GetAsInt(), 1, "calls")
}

// The wait for the operator is a part of the call, which is judged anew after it.
func TestTheWaitForAnAnswerIsAPart(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	b, s := start(t, newWorkspace(t), asks, waits, c.settings).under("INT-001")
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.OK("write_to_file", args{"session": s, "path": "docs/n.md", "content": "new\n"})
	}()
	b.answers(b.pending(), approval.Once, "")
	<-done
	c.received(b)
	check.Equal(t, strings.Join(c.parts(c.called("write_to_file")), " "),
		"targets gate plan gate approval targets gate plan gate prepare journal execute ledger post-hooks", "parts")
}

// A command in the background is a span of its own below the call that began it, until its end.
func TestACommandBehindItsCall(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	b, s := start(t, newWorkspace(t), unsandboxed, direct, c.settings).under("INT-001")
	b.OK("execute_command", args{"session": s, "command": waitsForGo, "background": true})
	check.Write(t, b.dir, "src/go", "")
	b.eventually("its span is sent", func() bool { return c.has("execute_tool execute_command") })
	c.received(b)
	call := c.called("execute_command")
	check.That(t, slices.Contains(c.parts(call), "execute_tool execute_command"), "below the call: %v", c.parts(call))
	check.Equal(t, attributeOf(call.Attributes, "orchestra.sandbox"), "none", "sandbox")
}

// Whatever a call is about: neither paths nor contents nor commands leave the process, unless the operator wants the former.
func TestWhatACallIsAboutStaysHere(t *testing.T) {
	t.Parallel()
	const canary = "c4nary"
	for _, paths := range []bool{false, true} {
		t.Run(fmt.Sprint(paths), func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			hostile := "src/" + canary + "path \u202e\"} '..txt"
			b := start(t, newWorkspace(t), unsandboxed, c.settings, func(o *server.Options) {
				o.Settings.Telemetry.Paths = paths
				o.Settings.Rules = []settings.Rule{{Name: canary + "rule", When: `effect.kind == "create" && effect.path.endsWith("refused")`, Action: settings.Refuse, Message: canary + "message"}}
			})
			b.server.AddPreHook(hooks.PreFunc(canary+"hook", func(_ context.Context, call *hooks.Call) (hooks.Decision, error) {
				if strings.Contains(string(call.Arguments), "byhook") {
					return hooks.Refuse(refusal.New(canary+"code", canary+"reason")), nil
				}
				return hooks.Allow(canary + "note"), nil
			}))
			b.connect()
			s := b.Selects("INT-001")
			b.OK("write_to_file", args{"session": s, "path": hostile, "content": canary + "content\n"})
			b.OK("read_file", args{"session": s, "path": hostile})
			b.OK("search_files", args{"session": s, "path": ".", "regex": canary + "regex"})
			b.Call("write_to_file", args{"session": s, "path": "src/" + canary + "refused", "content": canary + "content\n"})
			b.Call("write_to_file", args{"session": s, "path": canary + "outside/x", "content": canary + "content\n"})
			b.Call("write_to_file", args{"session": s, "path": "src/byhook", "content": canary + "content\n"})
			b.Call("execute_command", args{"session": s, "command": "GH_TOKEN=" + canary + "secret echo " + canary + "command"})
			b.Call("read_file", args{"session": canary + "session", "path": canary + "missing"})
			b.Call("select_active_intent", args{"intent_id": canary + "intent"})
			c.received(b)
			sent := c.raw.String()
			check.Must(t, strings.Contains(sent, "write_to_file"), "nothing was sent")
			if !paths {
				check.That(t, !strings.Contains(sent, canary), "sent: %q", around(sent, canary))
				return
			}
			for _, what := range []string{"path", "command", "outside"} {
				check.That(t, strings.Contains(sent, canary+what), "%s is missing", what)
			}
			for _, what := range []string{"content", "regex", "message", "reason", "note", "hook", "rule", "code", "session", "intent", "secret"} {
				check.That(t, !strings.Contains(sent, canary+what), "sent: %q", around(sent, canary+what))
			}
		})
	}
}

func around(text, what string) string {
	at := max(strings.Index(text, what), 0)
	return text[max(at-40, 0):min(at+60, len(text))]
}

// Without the setting nothing is sent, whatever the environment of the server says, and with it the environment decides only
// what the collector gets to see beside it. No command gets to see that.
func TestTheEnvironmentSendsNothing(t *testing.T) {
	connections := atomic.Int64{}
	l := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	counting := &httptest.Server{Listener: l, Config: &http.Server{
		Handler:   http.NotFoundHandler(),
		ConnState: func(net.Conn, http.ConnState) { connections.Add(1) },
	}}
	counting.Start()
	defer counting.Close()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		t.Setenv(name, counting.URL)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret%20key, x-other=1")
	b, s := start(t, newWorkspace(t), unsandboxed).under("INT-001")
	b.OK("write_to_file", args{"session": s, "path": "src/n", "content": "x\n"})
	printed := b.OK("execute_command", args{"session": s, "command": "env"}).Text
	check.That(t, !strings.Contains(printed, "s3cret"), "a command sees %q", around(printed, "s3cret"))
	check.OK(t, b.server.EndTelemetry(t.Context()))
	b.hangUp()
	b.close()
	check.Equal(t, connections.Load(), 0, "connections")

	c := newCollector(t)
	b, s = start(t, newWorkspace(t), c.settings).under("INT-001")
	b.OK("read_file", args{"session": s, "path": "src/a.txt"})
	c.received(b)
	check.Equal(t, connections.Load(), 0, "connections")
	check.Must(t, len(c.headers) > 0, "nothing was sent")
	check.Equal(t, c.headers[0].Get("X-Key")+c.headers[0].Get("X-Other"), "s3cret key1", "headers")
}

// Who cannot be watched as the operator wants is not served, also where that is tried again.
func TestHeadersThatStopAServer(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")
	b := start(t, newWorkspace(t), newCollector(t).settings)
	for range 2 {
		check.That(t, b.server.StartTelemetry() != nil, "it was begun")
	}
}

// A collector that never answers holds up no call, and not the end of the server: it answers when both have been.
func TestACollectorThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var held atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		held.Add(1)
		<-release
	}))
	defer s.Close()
	defer close(release)
	b := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Telemetry.Endpoint = settings.URL(s.URL) }).connect()
	for range 1000 { // more spans than are kept
		b.OK("list_intents", args{})
	}
	b.eventually("something is sent", func() bool { return held.Load() > 0 })
	b.OK("list_intents", args{})
	b.hangUp()
	b.close()
}

// BenchmarkTelemetry is what it costs a call to be watched, for a collector that takes all.
func BenchmarkTelemetry(b *testing.B) {
	takes := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(takes.Close)
	for name, endpoint := range map[string]string{"off": "", "on": takes.URL} {
		b.Run(name, func(b *testing.B) {
			content := strings.Repeat("a line of sixty-four bytes, with its newline, for the benchmark\n", 64)
			do := benchEngine(b, map[string]string{".orchestration/active_intents.yaml": intentsYAML, "src/a.txt": content},
				func(s *settings.Settings) { s.Telemetry.Endpoint = settings.URL(endpoint) })
			do(b, "select_active_intent", args{"intent_id": "INT-001"})
			for _, c := range []struct {
				tool      string
				arguments args
			}{
				{"read_file", args{"path": "src/a.txt"}},
				{"write_to_file", args{"path": "src/a.txt", "content": content}},
			} {
				b.Run(c.tool, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						do(b, c.tool, c.arguments)
					}
				})
			}
		})
	}
}
