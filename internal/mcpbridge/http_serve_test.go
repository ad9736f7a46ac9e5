package mcpbridge_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// unserved is a handler without a listener. It ends with the test.
func unserved(t *testing.T, h *handler) *mcpbridge.HTTPHandler {
	t.Helper()
	handler := check.Value(newServer(t, h).HTTPHandler(mcpbridge.HTTPOptions{Authenticate: authenticate}))(t)
	t.Cleanup(handler.Close)
	return handler
}

// serve runs Serve on a loopback port.
func serve(t *testing.T, h *handler, options mcpbridge.HTTPOptions) (w web, stop func() error) {
	t.Helper()
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	return serveOn(t, h, listener, options)
}

func serveOn(t *testing.T, h *handler, listener net.Listener, options mcpbridge.HTTPOptions) (w web, stop func() error) {
	t.Helper()
	options.Authenticate = authenticate
	handler := check.Value(newServer(t, h).HTTPHandler(options))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, listener) }()
	t.Cleanup(cancel)
	return web{t, "http://" + listener.Addr().String()}, func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			t.Fatal("the server did not end")
			return nil
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	h := newHandler(t)
	running, _ := waiting(h)
	release := make(chan struct{})
	h.tools["echo"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
		running <- "echo"
		<-release
		return mcpbridge.Result{Text: "finished"}
	}
	w, stop := serve(t, h, mcpbridge.HTTPOptions{Drain: 2 * time.Second, SSE: true})
	id := w.initialize()
	stream := check.Value(http.DefaultClient.Do(w.request("", method(http.MethodGet), session(id), header("Accept", "text/event-stream"))))(t)
	defer stream.Body.Close()
	sse := openSSE(t, w, aliceToken)
	_, finishes := w.start(w.request(modernLine(1, "echo", `{}`), modern("tools/call", "echo")))
	receive(t, running, "echo")
	_, goesOn := w.start(w.request(modernLine(2, "wait", `{}`), modern("tools/call", "wait")))
	receive(t, running, "{}")
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	err := stop()
	check.That(t, err == nil, "ended with %v", err)
	check.Equal(t, (<-finishes).messages(t)[0].text(t), "finished", "the call in flight was answered")
	check.Equal(t, (<-goesOn).messages(t)[0].text(t), "cancelled", "the call that went on was answered")
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	for range sse.events {
		t.Error("an event after the end")
	}
}

func TestServeSaysWhyItEnded(t *testing.T) {
	handler := unserved(t, newHandler(t))
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	listener.Close()
	err := handler.Serve(t.Context(), listener)
	check.That(t, err != nil, "serving on a closed listener succeeded")
}

func TestHeadersAreBounded(t *testing.T) {
	w, stop := serve(t, newHandler(t), mcpbridge.HTTPOptions{})
	conn := check.Value(net.Dial("tcp", strings.TrimPrefix(w.url, "http://")))(t)
	defer conn.Close()
	// Exactly what the server reads before it gives up: with more on the way
	// it would reset the connection, and the answer would be lost.
	const limit, slop = 32 << 10, 4 << 10
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Large: "
	if _, err := io.WriteString(conn, head+strings.Repeat("x", limit+slop-len(head))); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	check.That(t, err == nil && strings.HasPrefix(string(answer), "HTTP/1.1 431 "), "got %q, %v", answer, err)
	check.NoError(t, stop())
}

func TestServeTLS(t *testing.T) {
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	w, stop := serveOn(t, newHandler(t), tls.NewListener(listener, known.TLS), mcpbridge.HTTPOptions{})
	w.url = strings.Replace(w.url, "http://", "https://", 1)
	response := check.Value(known.Client().Do(w.request(modernLine(1, "echo", "{}"), modern("tools/call", "echo"))))(t)
	response.Body.Close()
	check.That(t, response.StatusCode == 200 && response.TLS != nil, "got %s", response.Status)
	check.NoError(t, stop())
}

// A body that never ends keeps neither the server nor other requests.
func TestSlowBodyBlocksNobody(t *testing.T) {
	w, stop := serve(t, newHandler(t), mcpbridge.HTTPOptions{Drain: 50 * time.Millisecond})
	conn := check.Value(net.Dial("tcp", strings.TrimPrefix(w.url, "http://")))(t)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", aliceToken)
	check.Equal(t, w.do(w.request(modernLine(1, "echo", "{}"), modern("tools/call", "echo"))).status, 200, "another request")
	err := stop()
	check.That(t, err == nil, "ended with %v", err)
}

func TestSSECarriesEverything(t *testing.T) {
	h := newHandler(t)
	running, ended := waiting(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true})
	stream := openSSE(t, w, aliceToken)
	post := func(body string) {
		t.Helper()
		got := w.do(w.request(body, path("/message"), query(stream.query)))
		check.Must(t, got.status == http.StatusAccepted, "POST: %+v", got)
	}
	post(callLine(1, "echo", "{}"))
	stream.read(t).wantError(t, "1", -32600, "not initialized")
	post(initialize)
	stream.read(t)
	post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":"p"}}}`)
	for range 3 {
		check.Equal(t, stream.read(t).Method, "notifications/progress")
	}
	check.Equal(t, stream.read(t).text(t), "done")
	post("nonsense")
	stream.read(t).wantError(t, "null", -32700, "")
	post(callLine(3, "wait", `{"n":3}`))
	receive(t, running, `{"n":3}`)
	post(cancelLine(3))
	receive(t, ended, `{"n":3}`)
	post(callLine(4, "wait", `{"n":4}`))
	receive(t, running, `{"n":4}`)
	stream.leave()
	receive(t, ended, `{"n":4}`)
	eventually(t, "the session has ended", func() bool {
		return w.do(w.request(initialize, path("/message"), query(stream.query))).status == 404
	})
}

// A session of one transport is none of the other.
func TestSessionsOfTransportsDiffer(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{SSE: true})
	stream := openSSE(t, w, aliceToken)
	sseID := strings.TrimPrefix(stream.query, "sessionId=")
	check.Equal(t, w.do(w.request(callLine(1, "echo", "{}"), session(sseID))).status, 404, "/mcp with an SSE session")
	got := w.do(w.request(initialize, path("/message"), query("sessionId="+w.initialize())))
	check.That(t, got.status == 404, "/message with an HTTP session: %d", got.status)
}

// The client leaves while an answer is being written.
func TestClientLeavesDuringProgress(t *testing.T) {
	h := newHandler(t)
	gone := make(chan struct{})
	h.tools["progress"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		defer close(gone)
		for i := 0; ctx.Err() == nil; i++ {
			call.Progress(strings.Repeat("x", 1000), float64(i), 0)
		}
		return mcpbridge.Result{}
	}
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress",` + strings.Replace(modernMeta, `{`, `{"progressToken":1,`, 1) + `}}`
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response := check.Value(http.DefaultClient.Do(w.request(call, modern("tools/call", "progress")).WithContext(ctx)))(t)
	_, err := io.ReadFull(response.Body, make([]byte, 10_000))
	check.OK(t, err)
	response.Body.Close()
	cancel()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the call goes on")
	}
}
