package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// HTTPOptions are those of Streamable HTTP.
type HTTPOptions struct {
	// Header goes with every request, such as the secrets of an operator; never to another origin than the server's.
	Header http.Header
	// Client is what requests are made with, nil for one of our own. Redirections are followed only within the same scheme, host
	// and port, whatever it says. It needs limits for connecting, and must have none for a whole request: streams last.
	Client *http.Client
	// Token gives the bearer token for each request, "" for none; nil for none ever. Its errors end the request.
	Token func(context.Context) (string, error)
}

const (
	webPatience = 5 * time.Second
	// streamPatience is how long a process that is asked for its era may say nothing.
	streamPatience = time.Second
	maxRedirects   = 5
	maxSession     = 1024
	maxErrorBody   = 64 << 10
	// heldReplies is how many messages of ours that get no answer are sent at once.
	heldReplies = 8
	replyWithin = 30 * time.Second
	endWithin   = 2 * time.Second
	// drainWithin is how long a stream is read on after the answer, so that its connection can be used again.
	drainWithin = time.Second
	maxDrain    = 4 << 10
)

// web is the link over Streamable HTTP.
type web struct {
	client  *Client
	address string
	http    *http.Client
	options HTTPOptions
	replies chan struct{}
	renewal sync.Mutex
}

// ConnectHTTP opens the protocol at an address, http or https without a user in it. ctx bounds the opening only.
func ConnectHTTP(ctx context.Context, address string, h HTTPOptions, o Options) (*Client, error) {
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return nil, errors.New("the address of the server is no http or https URL")
	case at.User != nil || at.Fragment != "":
		return nil, errors.New("the address of the server must have no user, password or fragment: headers are for secrets")
	}
	c := newClient(o)
	c.patience = webPatience
	c.link = &web{client: c, address: address, options: h, http: sameOrigin(h.Client), replies: make(chan struct{}, heldReplies)}
	return c.opened(ctx)
}

// sameOrigin makes a client follow only redirections that stay where they are and keep the method.
func sameOrigin(given *http.Client) *http.Client {
	c := http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}}
	if given != nil {
		c = *given
	}
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if first := via[0]; len(via) > maxRedirects || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host || r.Method != first.Method {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return &c
}

func (w *web) send(_ context.Context, c *call) error {
	ctx, abort := context.WithCancel(w.client.ctx)
	c.abort = abort
	go func() {
		defer abort()
		if err := w.exchange(ctx, c); err != nil && w.client.flight.take(c.id) != nil {
			c.answer <- answer{err: err}
		}
	}()
	return nil
}

// exchange sends a call and reads until it is answered.
func (w *web) exchange(ctx context.Context, c *call) error {
	state := w.client.state.Load()
	response, err := w.call(ctx, c, state)
	if err == nil && response.StatusCode == http.StatusNotFound && state.session != "" && !c.opens() {
		// The server has forgotten the session, and has not looked at the call.
		response.Body.Close()
		if state, err = w.renew(ctx, state); err == nil {
			response, err = w.call(ctx, c, state)
		}
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return w.failed(response, c)
	}
	if session := response.Header.Get("Mcp-Session-Id"); c.method == "initialize" && len(session) <= maxSession {
		c.session = session
	}
	switch kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind {
	case "application/json":
		return w.single(response.Body, c)
	case "text/event-stream":
		return w.stream(ctx, response.Body, c, state)
	default:
		return &StatusError{Status: response.StatusCode, Text: "its content is neither JSON nor a stream of events, but " + shown(kind)}
	}
}

// call posts a call.
func (w *web) call(ctx context.Context, c *call, s *state) (*http.Response, error) {
	header := http.Header{}
	if c.modern {
		header.Set("Mcp-Protocol-Version", modernRevision)
		header.Set("Mcp-Method", c.method)
		if c.name != "" && (c.method == "tools/call" || c.method == "prompts/get" || c.method == "resources/read") {
			header.Set("Mcp-Name", headerValue(c.name))
		}
		if c.method == "tools/call" && len(c.h.Schema) > 0 {
			parameters, err := mirrored(c.h.Schema, c.arguments)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrParams, err)
			}
			for _, p := range parameters {
				header.Set("Mcp-Param-"+p.header, p.value)
			}
		}
	} else if c.method != "initialize" {
		s.mark(header)
	}
	return w.do(ctx, http.MethodPost, c.line, header)
}

// mark names the session in the headers of a request of the initialize era.
func (s *state) mark(header http.Header) {
	if s.session != "" {
		header.Set("Mcp-Session-Id", s.session)
	}
	if s.Revision != "" {
		header.Set("Mcp-Protocol-Version", s.Revision)
	}
}

// do makes one HTTP request.
func (w *web) do(ctx context.Context, method string, body []byte, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range w.options.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.options.Token != nil {
		token, err := w.options.Token(ctx)
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
	response, err := w.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	return response, nil
}

// failed is the error of an answer that is none.
func (w *web) failed(r *http.Response, c *call) error {
	if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden && r.Header.Get("WWW-Authenticate") != "" {
		return &AuthError{Status: r.StatusCode}
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxErrorBody))
	if m, err := parse(bytes.TrimSpace(body)); err == nil && m.failure != nil && w.client.answered(m, c) {
		return nil
	}
	e := &StatusError{Status: r.StatusCode, Text: shown(strings.TrimSpace(string(body)))}
	if to, err := r.Location(); err == nil {
		to.User, to.RawQuery, to.Fragment = nil, "", ""
		e.Location = shown(to.String())
	}
	return e
}

// single reads an answer that is no stream.
func (w *web) single(body io.Reader, c *call) error {
	most := w.client.options.MaxMessage
	raw, err := io.ReadAll(io.LimitReader(body, int64(most)+1))
	if len(raw) > most {
		return fmt.Errorf("%w: a body of more than %d bytes", ErrTooLarge, most)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || !w.client.receive(raw, c) || w.client.waits(c) {
		return fmt.Errorf("%w: the body does not have the answer", ErrAnswer)
	}
	return nil
}

// waits reports whether a call has no answer yet.
func (c *Client) waits(made *call) bool { return c.flight.get(made.id) != nil }

func (w *web) giveUp(c *call) {
	if !c.modern && !c.opens() {
		w.post(cancelled(c.id))
	}
	c.abort()
}

func (w *web) post(message []byte) bool {
	select {
	case w.replies <- struct{}{}:
	default:
		return false
	}
	go func() {
		defer func() { <-w.replies }()
		ctx, cancel := context.WithTimeout(w.client.ctx, replyWithin)
		defer cancel()
		_ = w.tell(ctx, w.client.state.Load(), message)
	}()
	return true
}

// tell sends what gets no answer.
func (w *web) tell(ctx context.Context, s *state, message []byte) error {
	header := http.Header{}
	s.mark(header)
	response, err := w.do(ctx, http.MethodPost, message, header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxDrain)
	if response.StatusCode >= http.StatusBadRequest {
		return &StatusError{Status: response.StatusCode, Text: "to a notification"}
	}
	return nil
}

func (w *web) opened(ctx context.Context, s *state) error {
	if s.Modern {
		w.client.state.Store(s)
		return nil
	}
	if err := w.tell(ctx, s, initialized()); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	w.client.state.Store(s)
	go w.listen()
	return nil
}

// renew begins another session in place of one that the server has forgotten. Of many calls that find out, one does it.
func (w *web) renew(ctx context.Context, old *state) (*state, error) {
	w.renewal.Lock()
	defer w.renewal.Unlock()
	if now := w.client.state.Load(); now != old {
		return now, nil
	}
	s, err := w.client.initialize(ctx)
	if err == nil {
		err = w.tell(ctx, s, initialized())
	}
	if err != nil {
		return nil, err
	}
	w.client.state.Store(s)
	w.client.changedAll(s)
	return s, nil
}

// close ends the session of the initialize era.
func (w *web) close() error {
	s := w.client.state.Load()
	defer w.http.CloseIdleConnections()
	if s.session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	header := http.Header{}
	s.mark(header)
	response, err := w.do(ctx, http.MethodDelete, nil, header)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// retryAfter reads the pause that a stream asks for.
func retryAfter(text string, otherwise time.Duration) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ms < 0 {
		return otherwise
	}
	return min(max(time.Duration(ms)*time.Millisecond, 50*time.Millisecond), mostPause)
}
