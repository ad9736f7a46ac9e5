package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// resource is the metadata of a protected resource (RFC 9728).
type resource struct {
	Resource   string   `json:"resource"`
	Issuers    []string `json:"authorization_servers"`
	Scopes     []string `json:"scopes_supported"`
	challenged []string // the scopes that a challenge names
}

// issuer is the metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
type issuer struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	Challenges            []string `json:"code_challenge_methods_supported"`
	NamesItself           bool     `json:"authorization_response_iss_parameter_supported"`
}

// discover finds the metadata of the server: where its challenge says, or at the well-known places.
func (w *web) discover(ctx context.Context) (*resource, error) {
	said := bearer(w.challenge(ctx))
	places := []string{said["resource_metadata"]}
	if places[0] == "" {
		places = wellKnown(w.server, "oauth-protected-resource", w.server.Path)
	}
	r := &resource{}
	err := w.first(ctx, places, r)
	if errors.Is(err, errNotThere) && said["resource_metadata"] == "" {
		r = &resource{Resource: w.server.String(), Issuers: []string{w.server.Scheme + "://" + w.server.Host}}
	} else if err != nil {
		return nil, fmt.Errorf("find out who authorizes for %s: %w", w.server, err)
	}
	if !covers(r.Resource, w.server) {
		return nil, fmt.Errorf("the metadata of %s is that of another resource, %q", w.server, printable.Text(r.Resource))
	}
	if len(r.Issuers) == 0 {
		return nil, fmt.Errorf("the metadata of %s names no authorization server", w.server)
	}
	if scope := strings.Fields(said["scope"]); len(scope) > 0 {
		r.challenged = scope
	}
	return r, nil
}

// covers reports whether a resource is the server, or a place above it on the same origin.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) || r.User != nil || r.Fragment != "" {
		return false
	}
	above, path := strings.TrimSuffix(r.Path, "/"), strings.TrimSuffix(server.Path, "/")
	return above == path || strings.HasPrefix(path, above+"/")
}

// wellKnown are the places of a document for a path, and then for the whole host.
func wellKnown(of *url.URL, document, path string) []string {
	root := of.Scheme + "://" + of.Host
	places := []string{root + "/.well-known/" + document}
	if path = strings.TrimSuffix(path, "/"); path != "" {
		places = append([]string{places[0] + path}, places...)
	}
	return places
}

// metadata is that of the resource's authorization server.
func (w *web) metadata(ctx context.Context, r *resource) (*issuer, error) {
	at, err := w.allowed(r.Issuers[0])
	if err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	path := strings.TrimSuffix(at.Path, "/")
	root := at.Scheme + "://" + at.Host
	places := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, root+path+"/.well-known/openid-configuration")
	}
	i := &issuer{}
	if err := w.first(ctx, places, i); err != nil {
		return nil, fmt.Errorf("find out how %s authorizes: %w", at, err)
	}
	if i.Issuer != r.Issuers[0] && i.Issuer != strings.TrimSuffix(r.Issuers[0], "/") && strings.TrimSuffix(i.Issuer, "/") != r.Issuers[0] {
		return nil, fmt.Errorf("the metadata of %s is that of another authorization server, %q", at, printable.Text(i.Issuer))
	}
	if !slices.Contains(i.Challenges, "S256") {
		return nil, fmt.Errorf("%s does not say that it has PKCE with S256, without which a login is not safe", at)
	}
	endpoints := []string{i.AuthorizationEndpoint, i.TokenEndpoint}
	if i.RegistrationEndpoint != "" {
		endpoints = append(endpoints, i.RegistrationEndpoint)
	}
	for _, endpoint := range endpoints {
		if _, err := w.allowed(endpoint); err != nil {
			return nil, fmt.Errorf("an endpoint of %s: %w", at, err)
		}
	}
	return i, nil
}

// first reads the first of some documents that is there.
func (w *web) first(ctx context.Context, places []string, into any) error {
	for i, place := range places {
		err := w.get(ctx, place, into)
		if err == nil || !errors.Is(err, errNotThere) || i == len(places)-1 {
			return err
		}
	}
	return errNotThere
}

// challenge asks the server for one.
func (w *web) challenge(ctx context.Context) string {
	r, err := w.request(ctx, http.MethodPost, w.server.String(), "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err != nil {
		return "" // the well-known places are tried
	}
	response, err := w.http.Do(r)
	if err != nil {
		return ""
	}
	response.Body.Close()
	return strings.Join(response.Header.Values("WWW-Authenticate"), ", ")
}

// bearer are the parameters of the Bearer challenge in a WWW-Authenticate header (RFC 9110); names are in lower case.
func bearer(header string) map[string]string {
	found := map[string]string{}
	in := false
	for rest := strings.TrimLeft(header, " ,\t"); rest != ""; rest = strings.TrimLeft(rest, " ,\t") {
		end := strings.IndexAny(rest, "=, \t")
		if end < 0 {
			end = len(rest)
		}
		word, after := rest[:end], strings.TrimLeft(rest[end:], " \t")
		if !strings.HasPrefix(after, "=") || word == "" { // a scheme
			in = strings.EqualFold(word, "Bearer")
			rest = strings.TrimPrefix(rest[end:], "=")
			continue
		}
		var value string
		value, rest = parameterValue(strings.TrimLeft(after[1:], " \t"))
		if name := strings.ToLower(word); in && found[name] == "" {
			found[name] = value
		}
	}
	return found
}

// parameterValue reads a token or a quoted text.
func parameterValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		if end := strings.IndexAny(text, ", \t"); end >= 0 {
			return text[:end], text[end:]
		}
		return text, ""
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:]
		case '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}
