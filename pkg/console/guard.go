package console

import "net/http"

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

// isOurs: the request is for the very address that the link has. A page that had its own name resolve to us asks for another,
// and so does one at localhost, which can be somebody else's on the other loopback address.
func (c *Console) isOurs(host string) bool { return host == c.door.at.String() }

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
	// A link elsewhere may lead here, and the file that opens the page has one: the document has no data. It leads to the top
	// alone: a page of somebody else could open what asks for an answer just under a click.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.URL.Path == "/"
}

// admitted lets requests through that show both secrets, and come from a person.
func (c *Console) admitted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := c.door.who(r); !ok {
			http.Error(w, "unauthorized: the page has no key, or was let out; run orchestra-mcp console for a new link", http.StatusUnauthorized)
			return
		}
		c.byPerson(next)(w, r)
	}
}
