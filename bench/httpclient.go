package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
)

const bearer = "benchmark-bearer-token"

// httpServer is the program serving over HTTP.
type httpServer struct{ url string }

// serveHTTP starts the program on a free port. The limit of requests is
// lifted: it is there to slow clients down, and would be what is measured.
func (s *suite) serveHTTP(dir string) *httpServer {
	cmd := s.command(dir, []string{"ORCHESTRA_AUTH_TOKEN=" + bearer, "ORCHESTRA_LIMITS_RATE=1000000"},
		s.program, "serve", "--workspace", dir, "--transport", "http", "--listen", "127.0.0.1:0")
	stderr := must(cmd.StderrPipe())
	check(cmd.Start())
	s.atEnd(func() error { stop(cmd, syscall.SIGTERM); return nil })
	lines := bufio.NewScanner(stderr)
	address := regexp.MustCompile(`listening on (http://\S+/mcp)`)
	var said []string
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, stderr)
			return &httpServer{m[1]}
		}
		said = append(said, lines.Text())
	}
	check(fmt.Errorf("the server does not listen: %s", strings.Join(said, "\n")))
	return nil
}

// httpClient is one protocol session.
type httpClient struct {
	url     string
	session string
	client  *http.Client
	last    atomic.Int64
}

func (h *httpServer) connect(ctx context.Context) *httpClient {
	c := &httpClient{url: h.url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}}
	header, _, err := c.post(ctx, encodeRequest(0, "initialize", initializeParams()))
	check(err)
	if c.session = header.Get("Mcp-Session-Id"); c.session == "" {
		check(errors.New("the server gave no Mcp-Session-Id"))
	}
	return c
}

func (c *httpClient) call(ctx context.Context, tool string, a args) ([]byte, error) {
	_, answer, err := c.post(ctx, encodeCall(int(c.last.Add(1)), tool, a))
	return answer, err
}

func (c *httpClient) post(ctx context.Context, line []byte) (http.Header, []byte, error) {
	request := must(http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(line)))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + bearer, "MCP-Protocol-Version": protocolVersion, "Mcp-Session-Id": c.session,
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", response.Status, body)
	}
	if err != nil {
		return nil, nil, err
	}
	answer := lastEvent(response.Header, body)
	return response.Header, answer, failure(answer)
}

// lastEvent takes the answer out of an event stream, if it came as one.
func lastEvent(header http.Header, body []byte) []byte {
	if !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		return body
	}
	at := bytes.LastIndex(body, []byte("data: "))
	if at < 0 {
		return body
	}
	line, _, _ := bytes.Cut(body[at+len("data: "):], []byte("\n"))
	return line
}
