package mcpbridge

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Identity is whom a bearer token belongs to.
type Identity struct {
	// Principal names it. It is not empty.
	Principal string
	// Role is what it may do, in words of whoever authenticates; calls bear it.
	Role string
	// Unasked: its client answers no question, whoever puts it.
	Unasked bool
}

// Denial is the error of a request that is not let in.
type Denial struct {
	// Status is 401, 403 or 503.
	Status int
	// Code is that of RFC 6750; "" for a request that has shown nothing.
	Code string
	// Scope is what would be enough, where the code is insufficient_scope.
	Scope string
	// Text is for who sent it: visible ASCII and spaces, without quotes and backslashes.
	Text string
}

func (d *Denial) Error() string { return d.Text }

// Protected is what the metadata of RFC 9728 says of this server.
type Protected struct {
	// Resource is its identifier, an absolute URL without query and fragment; Issuer that of its authorization server.
	Resource, Issuer string
	// Scope is what a client needs, and should ask for.
	Scope string
}

// wellKnown is where RFC 9728 has the metadata of a host.
const wellKnown = "/.well-known/oauth-protected-resource"

// metadataURL is that of the resource: its path goes behind the well-known one.
func (p *Protected) metadataURL() string {
	u, err := url.Parse(p.Resource)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/")
}

// serves tells whether the metadata is at a path: at that of the resource, at that of the endpoint where a proxy in front
// has changed the path, and at the host's, where clients look that were told nothing.
func (p *Protected) serves(path string) bool {
	if p == nil || !strings.HasPrefix(path, wellKnown) {
		return false
	}
	return path == wellKnown || path == wellKnown+"/mcp" || strings.HasSuffix(p.metadataURL(), path)
}

// serveMetadata answers who has no token yet.
func (h *HTTPHandler) serveMetadata(w http.ResponseWriter, r *http.Request) {
	h.giveUp(w)
	if !onlyGET(w, r) {
		return
	}
	p := h.options.Protected
	document, err := json.Marshal(map[string]any{
		"resource": p.Resource, "authorization_servers": []string{p.Issuer}, "scopes_supported": []string{p.Scope},
		"bearer_methods_supported": []string{"header"}, "resource_name": h.server.identity.Name,
	})
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, document)
}

// authenticate tells who sends a request, or answers it.
func (h *HTTPHandler) authenticate(w http.ResponseWriter, r *http.Request) (Identity, bool) {
	who, err := h.options.Authenticate(r.Context(), bearerToken(r))
	if err == nil && who.Principal != "" {
		return who, true
	}
	denial, ok := errors.AsType[*Denial](err)
	if !ok {
		denial = &Denial{Status: http.StatusUnauthorized}
	}
	h.deny(w, denial)
	return Identity{}, false
}

func (h *HTTPHandler) deny(w http.ResponseWriter, d *Denial) {
	if d.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
		h.turnAway(w, "unavailable: "+d.Text, d.Status)
		return
	}
	challenge := `Bearer realm="orchestra-mcp"`
	add := func(name, value string) {
		if value != "" {
			challenge += ", " + name + `="` + value + `"`
		}
	}
	if p := h.options.Protected; p != nil {
		add("resource_metadata", p.metadataURL())
		if d.Scope == "" {
			add("scope", p.Scope)
		}
	}
	add("scope", d.Scope)
	add("error", d.Code)
	text := strings.ToLower(http.StatusText(d.Status))
	if d.Code != "" {
		add("error_description", d.Text)
		text += ": " + d.Text
	}
	if d.Status == http.StatusUnauthorized {
		text += "; send Authorization: Bearer with the token that the server shows at its start, or with one of auth.tokens or auth.issuer"
	}
	w.Header().Set("WWW-Authenticate", challenge)
	h.turnAway(w, text, d.Status)
}
