package mcpbridge

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone; there is nobody to tell
}

// comment is an event that clients skip.
const comment = ": open\n\n"

// startEvents begins an event stream.
func startEvents(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
}

// writeEvent writes one event and flushes it. data is JSON as encoding/json
// writes it, so it has no newline.
func writeEvent(w http.ResponseWriter, event string, data []byte) error {
	var b bytes.Buffer
	b.WriteString("event: " + event + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return writeNow(w, b.Bytes())
}

// writeNow writes and flushes, giving up on a client that does not read.
func writeNow(w http.ResponseWriter, data []byte) error {
	control := http.NewResponseController(w)
	// An error means a writer that cannot time out, as tests use it.
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := control.Flush(); err != nil {
		return err
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}

// postStream is the response to one POST: a single JSON object, or an event
// stream from the first notification or question on.
type postStream struct {
	w      http.ResponseWriter
	events bool        // the client takes event streams
	json   bool        // the client takes JSON
	wanted func() bool // nil: always

	mu      sync.Mutex
	started bool // as an event stream
	over    bool
}

// newPostStream returns nil if the client takes neither form.
func newPostStream(w http.ResponseWriter, r *http.Request) *postStream {
	s := &postStream{w: w, json: accepts(r, "application/json"), events: accepts(r, "text/event-stream")}
	if !s.json && !s.events {
		return nil
	}
	return s
}

func (s *postStream) notify(notification []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.events || (s.wanted != nil && !s.wanted()) {
		return
	}
	s.begin()
	if err := writeEvent(s.w, "message", notification); err != nil {
		s.over = true
	}
}

// carriesRequests: a client that takes a JSON object only gets the answer.
func (s *postStream) carriesRequests() bool { return s.events }

func (s *postStream) request(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.begin()
	if err := writeEvent(s.w, "message", message); err != nil {
		s.over = true
	}
	return !s.over
}

func (s *postStream) stayOpen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started && !s.over && writeNow(s.w, []byte(comment)) != nil {
		s.over = true
	}
}

func (s *postStream) begin() {
	if !s.started {
		s.started = true
		startEvents(s.w)
	}
}

// finish sends the answer; nil means that the client wants none.
func (s *postStream) finish(status int, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	switch {
	case answer == nil && !s.started:
		s.w.WriteHeader(http.StatusAccepted)
	case answer == nil:
	case s.started || !s.json:
		s.begin()
		_ = writeEvent(s.w, "message", answer) // as in writeJSON
	default:
		_ = http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(writeTimeout))
		writeJSON(s.w, status, answer)
		_ = http.NewResponseController(s.w).SetWriteDeadline(time.Time{})
	}
}

// accepts tells whether the Accept headers, if any, admit a media type.
func accepts(r *http.Request, mediaType string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, part := range strings.Split(strings.Join(values, ","), ",") {
		got, parameters, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil || parameters["q"] == "0" {
			continue
		}
		if got == mediaType || got == kind+"/*" || got == "*/*" {
			return true
		}
	}
	return false
}

// serveStream serves the GET stream of an initialize-era session. Nothing is
// sent on it yet but comments that keep it open.
func (h *HTTPHandler) serveStream(w http.ResponseWriter, r *http.Request, principal string) {
	if mcp.IsModernProtocol(r.Header.Get(headerVersion)) {
		methodNotAllowed(w, "POST")
		return
	}
	if !accepts(r, "text/event-stream") {
		http.Error(w, "not acceptable: accept text/event-stream", http.StatusNotAcceptable)
		return
	}
	s, ok := h.session(w, r, principal)
	if !ok {
		return
	}
	if !h.sessions.stream(s) {
		http.Error(w, "conflict: this session has a stream already", http.StatusConflict)
		return
	}
	defer h.sessions.streamEnded(s)
	startEvents(w)
	h.keepOpen(w, r, s.done, nil)
}

// keepOpen keeps a stream alive until the client leaves, the session ends, or
// the server stops. The mutex, if any, guards the writer.
func (h *HTTPHandler) keepOpen(w http.ResponseWriter, r *http.Request, ended <-chan struct{}, writing *sync.Mutex) {
	hold := func() error {
		if writing != nil {
			writing.Lock()
			defer writing.Unlock()
		}
		return writeNow(w, []byte(comment))
	}
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		if err := hold(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ended:
			return
		case <-h.streams.Done():
			return
		case <-ticker.C:
		}
	}
}
