package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/telemetry"
)

// answering is a collector that answers each message about traces as it is told, the last way for the rest.
type answering struct {
	*httptest.Server
	mu   sync.Mutex
	with []func(http.ResponseWriter, *http.Request)
	got  []*tracepb.TracesData
}

func newAnswering(t *testing.T, with ...func(http.ResponseWriter, *http.Request)) *answering {
	t.Helper()
	a := &answering{with: with}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.URL.Path != "/otlp/v1/traces" {
			return
		}
		all := new(tracepb.TracesData)
		check.That(t, err == nil && proto.Unmarshal(body, all) == nil, "a message cannot be read")
		a.got = append(a.got, all)
		with := a.with[0]
		if len(a.with) > 1 {
			a.with = a.with[1:]
		}
		with(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// logged is what is logged by any goroutine.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// started watches, and logs into the buffer.
func started(t *testing.T, endpoint string) (*telemetry.Telemetry, *logged) {
	t.Helper()
	log := new(logged)
	none := func() int { return 0 }
	return check.Value(telemetry.Start(telemetry.Options{
		Endpoint: endpoint, Paths: true, Tools: []string{"probe"}, Pending: none, Running: none, Logger: zerolog.New(log),
	}))(t), log
}

func calls(ctx context.Context, t *telemetry.Telemetry, paths ...string) {
	call := &hooks.Call{Tool: "probe"}
	for _, p := range paths {
		call.Effects.Files = append(call.Effects.Files, &hooks.FileEffect{Change: change.Change{Op: change.Created, Path: p}})
	}
	_, w := t.Begin(t.Arrived(ctx, telemetry.Incoming{}), call, nil)
	w.Enter(hooks.PartTargets)
	w.End(hooks.Result{}, "")
}

// How a call ended, and what refused it, is told by words of ours where they are ours.
func TestEndsOfCalls(t *testing.T) {
	t.Parallel()
	a := newAnswering(t, status(200))
	sends, _ := started(t, a.URL+"/otlp")
	ends := []struct {
		result hooks.Result
		hook   string
		want   string
	}{
		{hooks.Result{}, "", "done "},
		{hooks.Result{IsError: true}, "", "failed "},
		{hooks.Result{InLine: &hooks.InLine{}}, "", "asked "},
		{hooks.Result{Unanswered: true}, "", "asked "},
		{hooks.Result{IsError: true, Refusal: refusal.New(refusal.RoleForbidden, "no")}, hooks.StepRole, "refused role"},
		{hooks.Result{IsError: true, Refusal: refusal.New(refusal.RuleViolation, "no")}, "rules/mine", "refused rules"},
		{hooks.Result{IsError: true, Refusal: refusal.New("mine", "no")}, "mine", "refused _OTHER"},
	}
	for _, end := range ends {
		_, w := sends.Begin(t.Context(), &hooks.Call{Tool: "probe"}, nil)
		w.End(end.result, end.hook)
	}
	check.OK(t, sends.Shutdown(t.Context()))
	spans := a.got[0].ResourceSpans[0].ScopeSpans[0].Spans
	check.Must(t, len(spans) == len(ends), "%d spans", len(spans))
	for i, end := range ends {
		found := map[string]string{}
		for _, kv := range spans[i].Attributes {
			found[kv.Key] = kv.Value.GetStringValue()
		}
		check.Equal(t, found["orchestra.outcome"]+" "+found["orchestra.refused_by"], end.want)
	}
}

// Names of files that are no text, and long ones, and many, keep nothing else from being sent.
func TestPathsOfAllKinds(t *testing.T) {
	t.Parallel()
	a := newAnswering(t, status(200))
	sends, _ := started(t, a.URL+"/otlp")
	paths := []string{"src/\xff\xfe", strings.Repeat("é", 2000)}
	for range 500 {
		paths = append(paths, "x")
	}
	calls(t.Context(), sends, paths...)
	check.OK(t, sends.Shutdown(t.Context()))
	for _, kv := range a.got[0].ResourceSpans[0].ScopeSpans[0].Spans[1].Attributes {
		if kv.Key == "orchestra.paths" {
			list := kv.Value.GetArrayValue().Values
			check.That(t, len(list) == 32 && list[0].GetStringValue() == "src/\uFFFD" && len(list[1].GetStringValue()) <= 1026, "%d: %q", len(list), list[:2])
			return
		}
	}
	t.Errorf("no paths: %v", a.got)
}

func TestAnswersOfCollectors(t *testing.T) {
	t.Parallel()
	elsewhere := newAnswering(t, status(200))
	for name, c := range map[string]struct {
		with   []func(http.ResponseWriter, *http.Request)
		sent   int
		logged string
	}{
		"taken":         {[]func(http.ResponseWriter, *http.Request){status(200)}, 1, ""},
		"busy at first": {[]func(http.ResponseWriter, *http.Request){status(503), status(200)}, 2, ""},
		"not wanted":    {[]func(http.ResponseWriter, *http.Request){status(400)}, 1, "400 Bad Request"},
		"sent away": {[]func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/otlp/v1/traces", http.StatusTemporaryRedirect)
		}}, 1, "307 Temporary Redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAnswering(t, c.with...)
			sends, log := started(t, strings.Replace(a.URL, "http://", "http://user:s3cret@", 1)+"/otlp")
			calls(t.Context(), sends)
			check.OK(t, sends.Shutdown(t.Context()))
			check.Equal(t, len(a.got), c.sent, "sent")
			said := log.String()
			check.That(t, (said == "") == (c.logged == "") && strings.Contains(said, c.logged) && !strings.Contains(said, "s3cret"), "logged %q", said)
		})
	}
	t.Cleanup(func() { check.Equal(t, len(elsewhere.got), 0, "sent elsewhere") })
}

// That nobody answers is logged once, without the address.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	a := newAnswering(t, status(200))
	a.Close()
	sends, log := started(t, strings.Replace(a.URL, "http://", "http://user:s3cret@", 1)+"/s3cret")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	calls(ctx, sends)
	_ = sends.Shutdown(ctx) // which gives up, and so does the sending behind it
	for log.String() == "" {
		check.Must(t, t.Context().Err() == nil, "nothing is logged")
		time.Sleep(time.Millisecond)
	}
	check.That(t, strings.Count(log.String(), "\n") == 1 && !strings.Contains(log.String(), "s3cret"), "logged %q", log)
}

func TestHeadersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, headers := range []string{"=s3cret", "a b=s3cret", "a=s3cret%zz", "a=s3cret%0d%0ab: c", "a:b=s3cret"} {
		_, err := telemetry.Start(telemetry.Options{Endpoint: "http://127.0.0.1:1", Headers: headers, Pending: func() int { return 0 }, Running: func() int { return 0 }})
		check.That(t, err != nil && !strings.Contains(err.Error(), "s3cret"), "%q: %v", headers, err)
	}
}

// Who did not ask for a page has none to keep.
func TestNoPage(t *testing.T) {
	t.Parallel()
	sends, _ := started(t, "")
	page := httptest.NewRecorder()
	sends.ServeMetrics(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	check.Equal(t, page.Code, http.StatusNotFound, "the page")
	check.OK(t, sends.Shutdown(t.Context()))
}
