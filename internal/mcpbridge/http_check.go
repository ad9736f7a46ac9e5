package mcpbridge

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// check lets a request through and says whose it is, or answers it. The order matters: a page that rebound its name to
// us, or a foreign origin, learns nothing but 403, and nothing of the body is read for who is not known.
func (h *HTTPHandler) check(w http.ResponseWriter, r *http.Request) (from sender, ok bool) {
	if !h.hostAllowed(r) {
		h.turnAway(w, "forbidden: this Host is not served; add it to http.allowed_hosts in the settings", http.StatusForbidden)
		return from, false
	}
	if !h.checkOrigin(w, r) {
		return from, false
	}
	if h.options.Protected.serves(r.URL.Path) {
		h.serveMetadata(w, r)
		return from, false
	}
	if well := h.options.Status[r.URL.Path]; well != nil {
		h.serveStatus(w, r, well)
		return from, false
	}
	if !h.serves(r.URL.Path) {
		h.turnAway(w, "not found: MCP is served at /mcp", http.StatusNotFound)
		return from, false
	}
	who, ok := h.authenticate(w, r)
	if !ok {
		return from, false
	}
	h.conns.know(r.Context())
	if r.ContentLength == 0 {
		// What is left of the deadline would be taken for the client's leaving.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	p, ok := h.of(who.Principal)
	if !ok {
		tooMuch(w)
		return from, false
	}
	if !p.rateOf(p.clientOf(r)).Allow() || !p.rate.Allow() {
		h.done(p)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests; wait a second", http.StatusTooManyRequests)
		return from, false
	}
	return sender{p, who}, true
}

// sender is a principal as it sends one request: another token of the same may give another role.
type sender struct {
	*principal
	who Identity
}

// turnAway answers a request that has shown no token, and ends its connection.
func (h *HTTPHandler) turnAway(w http.ResponseWriter, text string, status int) {
	h.giveUp(w)
	http.Error(w, text, status)
}

// giveUp has the connection end with the answer. What the request announced is not waited for; but an answer is lost where a
// connection is closed with something unread, so a moment is given.
func (h *HTTPHandler) giveUp(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(time.Second, h.options.ReadTimeout)))
}

// hostAllowed tells whether a request names this server: by a loopback name, by the address that the client reached,
// or as the operator said. An entry without a port stands for every port. The name of a page that had it resolve to
// us is none of them.
func (h *HTTPHandler) hostAllowed(r *http.Request) bool {
	name := r.Host
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil && (ip.IsLoopback() || ip.WithZone("").Unmap() == reached(r)) {
		return true
	}
	for _, entry := range h.options.AllowedHosts {
		if strings.EqualFold(entry, r.Host) || strings.EqualFold(strings.Trim(entry, "[]"), name) {
			return true
		}
	}
	return false
}

// reached is the address of ours that a request came in on.
func reached(r *http.Request) netip.Addr {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().WithZone("").Unmap()
}

// ownOrigin tells whether a page is one of this server, whose Host has been allowed. A proxy in front of it may have
// taken the TLS off.
func ownOrigin(origin, host string) bool {
	scheme, at, _ := strings.Cut(origin, "://")
	return (scheme == "http" || scheme == "https") && strings.EqualFold(at, host)
}

// checkOrigin answers requests of web pages that are not allowed, and the preflights of those that are.
func (h *HTTPHandler) checkOrigin(w http.ResponseWriter, r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 || !slices.Contains(h.options.AllowedOrigins, origins[0]) && !ownOrigin(origins[0], r.Host) {
		h.turnAway(w, "forbidden: this Origin is not served; add it to http.allowed_origins in the settings", http.StatusForbidden)
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origins[0])
	header.Set("Access-Control-Expose-Headers", headerSession+", WWW-Authenticate")
	header.Add("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return true
	}
	// A preflight bears no token, by the rules of fetch.
	header.Set("Connection", "close")
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	header.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Accept, "+strings.Join([]string{headerSession, headerVersion, headerMethod, headerName, headerLastEvent}, ", "))
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

// readBody reads the message of a POST within the limits, and reserves what it takes among the principal's. On failure
// the request has been answered. Otherwise held must be released when the message is done with.
func (h *HTTPHandler) readBody(w http.ResponseWriter, r *http.Request, p *principal) (body []byte, held place, ok bool) {
	announced := r.ContentLength
	if announced < 0 {
		announced = h.options.MaxBody
	}
	switch mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err != nil || mediaType != "application/json":
		http.Error(w, "unsupported media type: send Content-Type: application/json", http.StatusUnsupportedMediaType)
	case announced > h.options.MaxBody:
		tooLarge(w)
	default:
		if held, ok = p.places.reserve(int(announced)); !ok {
			tooMuch(w)
		} else if held, ok = held.within(h.bodies); !ok {
			held.release()
			tooMuch(w)
		} else if body, ok = h.readAll(w, r); !ok {
			held.release()
		}
	}
	return body, held, ok
}

func (h *HTTPHandler) readAll(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	control := http.NewResponseController(w)
	limited := http.MaxBytesReader(w, r.Body, h.options.MaxBody)
	body, err := io.ReadAll(&pacedBody{body: limited, control: control, until: time.Now().Add(h.options.ReadTimeout)})
	// With a deadline left, net/http would take it for the client's leaving.
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		tooLarge(w)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		_ = control.SetReadDeadline(time.Now()) // nothing more of it is waited for
		http.Error(w, "the body took too long", http.StatusRequestTimeout)
		return nil, false
	case err != nil:
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return nil, false
	}
	return body, true
}

// pacedBody gives a body the time of what has come of it, so that one that is announced and not sent holds nothing
// for long, and a large one arrives.
type pacedBody struct {
	body    io.Reader
	control *http.ResponseController
	until   time.Time
}

func (p *pacedBody) Read(b []byte) (int, error) {
	// An error here means a writer that cannot time out, as tests use it.
	_ = p.control.SetReadDeadline(p.until)
	n, err := p.body.Read(b)
	p.until = p.until.Add(time.Duration(n) * time.Second / bodyRate)
	return n, err
}

func tooLarge(w http.ResponseWriter) {
	http.Error(w, "the message is too large", http.StatusRequestEntityTooLarge)
}
