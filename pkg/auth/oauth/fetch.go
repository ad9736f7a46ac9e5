package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

// maxDocument bounds the metadata of an issuer, and its key set, in bytes.
const maxDocument = 256 << 10

// fetcher asks the issuer.
type fetcher struct {
	issuer string
	client *http.Client
}

func newFetcher(o Options) fetcher {
	client := &http.Client{}
	if o.Client != nil {
		*client = *o.Client
	}
	client.Timeout = fetchTime
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("it redirects, which is not followed") }
	return fetcher{o.Issuer, client}
}

// keySet finds the issuer's metadata, and gets the keys that it names.
func (f fetcher) keySet(ctx context.Context) ([]jose.JSONWebKey, error) {
	var errs []error
	for _, place := range metadataPlaces(f.issuer) {
		at, err := f.keysAt(ctx, place)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		document, err := f.get(ctx, at)
		if err != nil {
			return nil, err
		}
		return readKeys(document)
	}
	return nil, errors.Join(errs...)
}

// metadataPlaces are where an issuer's metadata may be, in the order in which MCP has clients look.
func metadataPlaces(issuer string) []string {
	u, err := url.Parse(strings.TrimSuffix(issuer, "/"))
	if err != nil {
		return nil // which New has refused
	}
	origin, path := u.Scheme+"://"+u.Host, u.EscapedPath()
	places := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	return places
}

// keysAt reads a metadata document for where the keys are. One that names another issuer is not this issuer's.
func (f fetcher) keysAt(ctx context.Context, place string) (string, error) {
	document, err := f.get(ctx, place)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(document, &metadata); err != nil {
		return "", fmt.Errorf("%s cannot be read: %v", place, err)
	}
	if metadata.Issuer != f.issuer {
		return "", fmt.Errorf("%s is of the issuer %.200q, and auth.issuer is %q; they must be the same to the last character", place, metadata.Issuer, f.issuer)
	}
	u, err := url.Parse(metadata.Keys)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && auth.IsLoopback(u.Hostname()) && strings.HasPrefix(f.issuer, "http:")) {
		return "", fmt.Errorf("%s names no key set at an https address", place)
	}
	return metadata.Keys, nil
}

func (f fetcher) get(ctx context.Context, at string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	response, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", at, response.Status)
	}
	document, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	if len(document) > maxDocument {
		return nil, fmt.Errorf("%s has more than %d bytes", at, maxDocument)
	}
	return document, nil
}
