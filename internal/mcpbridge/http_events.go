package mcpbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone; there is nobody to tell
}

// writeError answers a message that was not run.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, failure *rpcError) {
	writeJSON(w, status, encodeError(id, failure))
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

// encodeEvent makes an event, with an id unless that is "". data is JSON as encoding/json writes it, so it has no newline.
func encodeEvent(id, event string, data []byte) []byte {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + event + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
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

// accepts tells whether the Accept headers, if any, admit a media type, and whether they name it itself.
func accepts(r *http.Request, mediaType string) (admits, named bool) {
	values := r.Header.Values("Accept")
	kind, _, _ := strings.Cut(mediaType, "/")
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		got, parameters, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err == nil && parameters["q"] != "0" {
			named = named || got == mediaType
			admits = admits || named || got == kind+"/*" || got == "*/*"
		}
	}
	return admits || len(values) == 0, named
}

// serveStream serves a GET of an initialize-era session: with a Last-Event-ID it goes on with the stream of a call;
// without one it is the session's own stream, which tells of lists that change.
func (h *HTTPHandler) serveStream(w http.ResponseWriter, r *http.Request, p *principal) {
	if admits, _ := accepts(r, "text/event-stream"); !admits {
		http.Error(w, "not acceptable: accept text/event-stream", http.StatusNotAcceptable)
		return
	}
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	defer p.leave(s)
	if last := r.Header.Get(headerLastEvent); last != "" {
		p.resume(w, r, s, last)
		return
	}
	if !s.streaming.CompareAndSwap(false, true) {
		http.Error(w, "conflict: this session has a stream already", http.StatusConflict)
		return
	}
	defer s.streaming.Store(false)
	startEvents(w)
	h.keepOpen(w, r, s.done, nil, s.lists)
}

// resume goes on with a call's stream behind the last event that the client got.
func (p *principal) resume(w http.ResponseWriter, r *http.Request, s *session, last string) {
	stream, seen := p.kept.find(last, s.peer)
	if stream == nil {
		http.Error(w, fmt.Sprintf("gone: no stream of this session can be resumed from that event; one can for %v after it was lost or has ended", resumeTime), http.StatusGone)
		return
	}
	s.worked.Store(true)
	stream.attend(r, stream.attach(w, seen))
}

// keepOpen keeps a stream alive, and tells on it of lists that change, until the client leaves, the session ends, or the server
// stops. The mutex, if any, guards the writer.
func (h *HTTPHandler) keepOpen(w http.ResponseWriter, r *http.Request, ended <-chan struct{}, writing *sync.Mutex, lists *follower) {
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
		case <-lists.woken():
			if changed := lists.take(); !tellChanged(w, changed) {
				lists.add(changed) // for the stream that the client opens next
				return
			}
		}
	}
}

func tellChanged(w http.ResponseWriter, lists []string) bool {
	for _, list := range lists {
		if writeNow(w, encodeEvent("", "message", changedNews(list))) != nil {
			return false
		}
	}
	return true
}

// serveSSE serves the stream of the 2024-11-05 transport: it tells the client where to post its messages, and carries
// all answers.
func (h *HTTPHandler) serveSSE(w http.ResponseWriter, r *http.Request, p sender) {
	if r.Method != http.MethodGet {
		methodNotAllowed(w, "GET")
		return
	}
	c := h.server.newConn(h.calls, heldMessages*int(h.options.MaxBody), func(message []byte) error {
		return writeNow(w, encodeEvent("", "message", message))
	})
	s, ok := p.open(c.peer, c)
	if !ok {
		c.cancel()
		noSession(w, nil)
		return
	}
	defer p.endSSE(s)
	startEvents(w)
	c.writeMu.Lock()
	err := writeNow(w, encodeEvent("", "endpoint", []byte("/message?sessionId="+url.QueryEscape(s.id))))
	c.writeMu.Unlock()
	if err == nil {
		h.keepOpen(w, r, s.done, &c.writeMu, nil)
	}
}

// endSSE ends a stream with all that was in flight on it. The response writer must not be used after its handler has
// returned, so this waits for a write that has begun.
func (p *principal) endSSE(s *session) {
	p.end(s)
	s.conn.close()
	s.conn.cancel()
	_ = s.conn.stop() // the client has left; nobody wants the error
	s.conn.writeMu.Lock()
	defer s.conn.writeMu.Unlock()
}

// serveMessage takes a message for an SSE stream of the same principal.
func (h *HTTPHandler) serveMessage(w http.ResponseWriter, r *http.Request, p sender) {
	if r.Method != http.MethodPost {
		methodNotAllowed(w, "POST")
		return
	}
	body, held, ok := h.readBody(w, r, p.principal)
	if !ok {
		return
	}
	defer held.release()
	s := p.use(r.URL.Query().Get("sessionId"), true)
	if s == nil {
		http.Error(w, "session not found: open /sse again", http.StatusNotFound)
		return
	}
	defer p.leave(s)
	s.conn.readMu.Lock()
	defer s.conn.readMu.Unlock()
	s.conn.receive(body, p.who)
	w.WriteHeader(http.StatusAccepted)
}
