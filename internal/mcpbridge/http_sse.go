package mcpbridge

import (
	"net/http"
	"net/url"
)

// serveSSE serves the stream of the 2024-11-05 transport: it tells the client where to post its messages, and carries
// all answers.
func (h *HTTPHandler) serveSSE(w http.ResponseWriter, r *http.Request, principal string) {
	if r.Method != http.MethodGet {
		methodNotAllowed(w, "GET")
		return
	}
	c := h.server.newConn(h.calls, principal, heldMessages*int(h.options.MaxBody), func(message []byte) error {
		return writeEvent(w, "", "message", message)
	})
	s, ok := h.sessions.open(principal, c.peer, c)
	if !ok {
		c.cancel()
		noSession(w, nil)
		return
	}
	defer h.endSSE(s)
	startEvents(w)
	endpoint := "/message?sessionId=" + url.QueryEscape(s.id)
	if err := h.announce(c, w, endpoint); err != nil {
		return
	}
	h.keepOpen(w, r, s.done, &c.writeMu)
}

func (h *HTTPHandler) announce(c *conn, w http.ResponseWriter, endpoint string) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	return writeEvent(w, "", "endpoint", []byte(endpoint))
}

// endSSE ends a stream with all that was in flight on it. The response writer must not be used after its handler has
// returned, so this waits for a write that has begun.
func (h *HTTPHandler) endSSE(s *session) {
	h.sessions.end(s)
	s.conn.close()
	s.conn.cancel()
	_ = s.conn.stop() // the client has left; nobody wants the error
	s.conn.writeMu.Lock()
	defer s.conn.writeMu.Unlock()
}

// serveMessage takes a message for an SSE stream of the same principal.
func (h *HTTPHandler) serveMessage(w http.ResponseWriter, r *http.Request, principal string) {
	if r.Method != http.MethodPost {
		methodNotAllowed(w, "POST")
		return
	}
	body, held, ok := h.readBody(w, r, h.quotas.of(principal))
	if !ok {
		return
	}
	defer held.release()
	s := h.sessions.use(r.URL.Query().Get("sessionId"), principal)
	if s != nil {
		defer h.sessions.leave(s)
	}
	if s == nil || s.conn == nil {
		http.Error(w, "session not found: open /sse again", http.StatusNotFound)
		return
	}
	s.conn.receiveOne(body)
	w.WriteHeader(http.StatusAccepted)
}
