package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

const bearer = "benchmark-bearer-token"

// httpServer is the program serving over HTTP.
type httpServer struct {
	cmd *exec.Cmd
	url string
}

// serveHTTP starts the program on a free port. The limit of requests is
// lifted: it is there to slow clients down, and would be what is measured.
func (s *suite) serveHTTP(ctx context.Context, dir string) (*httpServer, error) {
	cmd := exec.CommandContext(ctx, s.program, "serve", "--workspace", dir, "--transport", "http", "--listen", "127.0.0.1:0")
	cmd.Dir, cmd.Env = dir, s.environment("ORCHESTRA_AUTH_TOKEN="+bearer, "ORCHESTRA_LIMITS_RATE=1000000")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &httpServer{cmd: cmd}
	lines := bufio.NewScanner(stderr)
	address := regexp.MustCompile(`listening on (http://\S+/mcp)`)
	var said []string
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			h.url = m[1]
			go io.Copy(io.Discard, stderr)
			return h, nil
		}
		said = append(said, lines.Text())
	}
	return nil, errors.Join(fmt.Errorf("the server does not listen: %s", strings.Join(said, "\n")), h.close())
}

func (h *httpServer) close() error {
	_ = h.cmd.Process.Signal(terminate())
	kill := time.AfterFunc(3*time.Second, func() { _ = h.cmd.Process.Kill() })
	defer kill.Stop()
	// As with peer.close, only that it ended matters.
	_ = h.cmd.Wait()
	return nil
}

// httpClient is one protocol session.
type httpClient struct {
	url     string
	session string
	client  *http.Client
	last    atomic.Int64
}

func (h *httpServer) connect(ctx context.Context) (*httpClient, error) {
	c := &httpClient{url: h.url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}}
	response, err := c.post(ctx, "initialize", initializeParams())
	if err != nil {
		return nil, err
	}
	c.session = response.header.Get("Mcp-Session-Id")
	if c.session == "" {
		return nil, errors.New("the server gave no Mcp-Session-Id")
	}
	return c, nil
}

func (c *httpClient) call(ctx context.Context, tool string, a args) ([]byte, error) {
	response, err := c.post(ctx, "tools/call", map[string]any{"name": tool, "arguments": a})
	return response.answer, err
}

type httpAnswer struct {
	header http.Header
	answer []byte
}

func (c *httpClient) post(ctx context.Context, method string, params any) (httpAnswer, error) {
	line, err := encodeRequest(int(c.last.Add(1)), method, params)
	if err != nil {
		return httpAnswer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(line))
	if err != nil {
		return httpAnswer{}, err
	}
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
		return httpAnswer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", response.Status, body)
	}
	if err != nil {
		return httpAnswer{}, err
	}
	answer := lastEvent(response.Header, body)
	return httpAnswer{response.Header, answer}, failure(answer)
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
