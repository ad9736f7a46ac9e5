package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

const (
	// maxBody bounds every document and answer.
	maxBody  = 1 << 20
	patience = 30 * time.Second
)

// errNotThere: no such document.
var errNotThere = errors.New("there is no metadata")

// web makes the requests of a login.
type web struct {
	http   *http.Client
	server *url.URL
	// here: the server is a program of this machine, and so may the others be.
	here bool
}

func newWeb(given *http.Client, server string) (*web, error) {
	c := http.Client{Timeout: patience}
	if given != nil {
		c = *given
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w := &web{http: &c, here: true}
	at, err := w.allowed(server)
	if err != nil {
		return nil, fmt.Errorf("the server: %w", err)
	}
	w.server, w.here = at, loopback(at.Hostname())
	return w, nil
}

// allowed reads an address that requests may go to: over TLS or, for what is on this machine itself, to this machine. A server
// somewhere else cannot have us ask programs of this machine.
func (w *web) allowed(address string) (*url.URL, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.User != nil || at.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a server", printable.Text(address))
	}
	local := loopback(at.Hostname())
	if at.Scheme == "https" && (w.here || !local) || at.Scheme == "http" && w.here && local {
		return at, nil
	}
	return nil, fmt.Errorf("%q is not over https to a server that is not on this machine", printable.Text(address))
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

func (w *web) request(ctx context.Context, method, address, kind, body string) (*http.Request, error) {
	at, err := w.allowed(address)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r, nil
}

// get reads a document.
func (w *web) get(ctx context.Context, address string, into any) error {
	r, err := w.request(ctx, http.MethodGet, address, "", "")
	if err != nil {
		return err
	}
	return w.do(r, into)
}

// post sends JSON and reads the answer.
func (w *web) post(ctx context.Context, address string, value, into any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	r, err := w.request(ctx, http.MethodPost, address, "application/json", string(body))
	if err != nil {
		return err
	}
	return w.do(r, into)
}

// refused is an OAuth error.
type refused struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *refused) Error() string {
	return fmt.Sprintf("status %d, %s: %s", e.Status, printable.Text(printable.Clip(e.Code, 100)), printable.Text(printable.Clip(e.Description, 300)))
}

// do makes a request and reads the JSON of its answer.
func (w *web) do(r *http.Request, into any) error {
	response, err := w.http.Do(r)
	if err != nil {
		return withoutQuery(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil:
		return err
	case len(body) > maxBody:
		return fmt.Errorf("the answer of %s has more than %d bytes", r.URL.Host, maxBody)
	case response.StatusCode >= 300 && r.Method == http.MethodGet && response.StatusCode < 500:
		return fmt.Errorf("%w at %s: status %d", errNotThere, r.URL, response.StatusCode)
	case response.StatusCode >= 300:
		e := &refused{Status: response.StatusCode}
		_ = json.Unmarshal(body, e) // some say nothing
		return e
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "application/json" && r.Method == http.MethodGet {
		return fmt.Errorf("%w at %s: the answer is no JSON", errNotThere, r.URL)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer of %s cannot be read", r.URL.Host) // the error could quote a token
	}
	return nil
}

// withoutQuery keeps what stands in the address of a request out of its error.
func withoutQuery(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
