package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector sends messages by OTLP over HTTP, in protobuf. The data messages of OTLP (TracesData, MetricsData) are on the
// wire what its service's requests are (ExportTraceServiceRequest, ExportMetricsServiceRequest).
//
// What fails is logged, at most once in a while, and no error: those of exporters go to a handler of the whole process,
// which writes to standard error.
type collector struct {
	base   *url.URL
	header http.Header
	client *http.Client
	log    zerolog.Logger
	// life ends what is being sent, for the exporters send on for a while after they were shut down.
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	logged time.Time
}

const (
	// attempts bounds how often a message is sent to a collector that is busy or gone; the wait doubles.
	attempts  = 4
	firstWait = time.Second
	// logTime is how long after a failure was logged others are not.
	logTime = 10 * time.Minute
	// maxAnswer bounds what is read of an answer, so that its connection can be used again.
	maxAnswer = 64 << 10
)

func newCollector(endpoint, headers string, log zerolog.Logger) (*collector, error) {
	base, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("telemetry.endpoint is no address") // which may hold a secret
	}
	c := &collector{base: base, log: log, header: http.Header{}}
	if err := c.addHeaders(headers); err != nil {
		return nil, err
	}
	c.header.Set("Content-Type", "application/x-protobuf")
	c.header.Set("User-Agent", "orchestra-mcp")
	c.life, c.end = context.WithCancel(context.Background())
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 2 * metricsTime}
	c.client = &http.Client{
		Transport: transport, Timeout: exportTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // elsewhere is not what was asked for
	}
	return c, nil
}

func (c *collector) addHeaders(list string) error {
	for entry := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, _ := strings.Cut(entry, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); err != nil || name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, separated by commas, with values escaped as in a URL")
		}
		c.header.Set(name, value)
	}
	return nil
}

var _ otlptrace.Client = (*collector)(nil)

// Start implements otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	c.send(ctx, "v1/traces", &tracepb.TracesData{ResourceSpans: spans})
	return nil
}

func (c *collector) send(ctx context.Context, name string, m proto.Message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	body, err := proto.Marshal(m)
	wait := firstWait
	for attempt := 1; err == nil; attempt++ {
		var again bool
		if again, err = c.post(ctx, name, body); err == nil {
			return
		}
		if !again || attempt == attempts {
			break
		}
		select {
		case <-time.After(wait):
			wait, err = 2*wait, nil
		case <-ctx.Done():
		}
	}
	c.failed(err)
}

// post sends once. again says that it may help to do so later.
func (c *collector) post(ctx context.Context, name string, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(name).String(), bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header = c.header.Clone()
	answer, err := c.client.Do(r)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the answer was %s", answer.Status)
}

func (c *collector) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.logged) < logTime {
		return
	}
	c.logged = time.Now()
	if failed, is := errors.AsType[*url.Error](err); is {
		err = failed.Err // without the address, which may hold a secret
	}
	c.log.Warn().Err(err).Msg("telemetry could not be sent to telemetry.endpoint, and is lost")
}
