package mcpbridge

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// check lets a request through or answers it. The order matters: a page that
// rebound its name to us, or a foreign origin, learns nothing but 403, and
// nothing of the body is read for who is not known.
func (h *HTTPHandler) check(w http.ResponseWriter, r *http.Request) (principal string, ok bool) {
	if !hostAllowed(r.Host, h.options.AllowedHosts) {
		http.Error(w, "forbidden: this Host is not served; add it to the allowed hosts", http.StatusForbidden)
		return "", false
	}
	if !h.checkOrigin(w, r) {
		return "", false
	}
	if !h.serves(r.URL.Path) {
		http.Error(w, "not found: MCP is served at /mcp", http.StatusNotFound)
		return "", false
	}
	if principal, ok = h.options.Authenticate(bearerToken(r)); !ok || principal == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="orchestra-mcp"`)
		http.Error(w, "unauthorized: send Authorization: Bearer with the token that the server was started with", http.StatusUnauthorized)
		return "", false
	}
	if !h.quotas.of(principal).rate.Allow() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests; wait a second", http.StatusTooManyRequests)
		return "", false
	}
	return principal, true
}

// hostAllowed compares a Host header with the list. An entry without a port
// stands for every port.
func hostAllowed(host string, allowed []string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.Trim(name, "[]")
	for _, entry := range allowed {
		if strings.EqualFold(entry, host) || strings.EqualFold(strings.Trim(entry, "[]"), name) {
			return true
		}
	}
	return false
}

// checkOrigin answers requests of web pages that are not allowed, and the
// preflights of those that are.
func (h *HTTPHandler) checkOrigin(w http.ResponseWriter, r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 || !slices.Contains(h.options.AllowedOrigins, origins[0]) {
		http.Error(w, "forbidden: this Origin is not served; add it to the allowed origins", http.StatusForbidden)
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origins[0])
	header.Set("Access-Control-Expose-Headers", headerSession)
	header.Add("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return true
	}
	// A preflight bears no token, by the rules of fetch.
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	header.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Accept, "+strings.Join([]string{headerSession, headerVersion, headerMethod, headerName}, ", "))
	w.WriteHeader(http.StatusNoContent)
	return false
}

func bearerToken(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// readBody reads the message of a POST within the limits, and reserves what it
// takes in the principal's quota. On failure the request has been answered.
// Otherwise held must be released when the message is done with.
func (h *HTTPHandler) readBody(w http.ResponseWriter, r *http.Request, q *quota) (body []byte, held place, ok bool) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "unsupported media type: send Content-Type: application/json", http.StatusUnsupportedMediaType)
		return nil, place{}, false
	}
	if r.ContentLength > h.options.MaxBody {
		tooLarge(w)
		return nil, place{}, false
	}
	held = place{q.places, int(r.ContentLength)}
	if r.ContentLength < 0 {
		held.size = int(h.options.MaxBody)
	}
	if !q.places.reserve(held.size) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too much is in flight; wait for answers, then send it again", http.StatusServiceUnavailable)
		return nil, place{}, false
	}
	if body, ok = readAll(w, r, h.options.MaxBody); !ok {
		held.release()
		return nil, place{}, false
	}
	return body, held, true
}

func readAll(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	control := http.NewResponseController(w)
	// An error here means a writer that cannot time out, as tests use it.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	// With a deadline left, net/http would take it for the client's leaving.
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		tooLarge(w)
		return nil, false
	case err != nil:
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return nil, false
	}
	return body, true
}

func tooLarge(w http.ResponseWriter) {
	http.Error(w, "the message is too large", http.StatusRequestEntityTooLarge)
}
