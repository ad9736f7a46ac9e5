package console

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// securityPolicy lets the page use its own files and this server, and nobody frame it or add to it.
const securityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// maxBody bounds a form: an edited file is the largest of what is sent.
const maxBody = 16 << 20

// guard sets the headers of every answer and refuses what comes from elsewhere, before anything else is looked at.
func (c *Console) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", securityPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		switch {
		case !c.isOurs(r.Host):
			http.Error(w, "forbidden: this is not the console's address", http.StatusForbidden)
		case !c.fromOurPage(r):
			http.Error(w, "forbidden: only the console's own page may ask this", http.StatusForbidden)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r)
		}
	})
}

// isOurs: the name is that of the address that we listen at. A page that had its own name resolve to us has another.
func (c *Console) isOurs(host string) bool {
	name, port, err := net.SplitHostPort(host)
	_, ours, _ := net.SplitHostPort(c.door.at.String())
	if err != nil || port != ours {
		return false
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

// fromOurPage: what changes something, and what bears an Origin, must come from this very address. Other ports are others.
func (c *Console) fromOurPage(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	ours := len(origins) == 1 && origins[0] == "http://"+r.Host
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case len(origins) > 0 && !ours, r.Method != http.MethodGet && r.Method != http.MethodHead && !ours:
		return false
	case site == "" || site == "same-origin" || site == "none":
		return true
	}
	// A link elsewhere may lead here: the document has no data.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// admitted lets requests through that show both secrets.
func (c *Console) admitted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := c.door.who(r); !ok {
			http.Error(w, "unauthorized: the page has no key, or was let out; run orchestra-mcp console for a new link", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

// byPerson refuses requests of processes that a governed command has started, as far as the system tells whose a connection
// is. It is for what lets in, and for what changes something.
func (c *Console) byPerson(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c.Governed != nil && slices.ContainsFunc(c.connectedTo(r), c.Governed) {
			c.Logger.Warn().Str("from", r.RemoteAddr).Msg("a program that a governed command has started was refused")
			http.Error(w, "forbidden: this is for the operator, and the program that asks was started by a command of a governed server", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// connectedTo are the processes at the other end of a request's connection, none where that is not to be known.
func (c *Console) connectedTo(r *http.Request) []int {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	local, is := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if err != nil || !is {
		return nil
	}
	return processesOf(remote, local.AddrPort())
}

// under is the rest of a path behind a prefix, with one slash before it.
func under(path, prefix string) string { return "/" + strings.TrimPrefix(path, prefix) }
