package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
)

// kept is what the file has, as JSON.
type kept struct {
	Server        string `json:"server"` // what the tokens are for
	Issuer        string `json:"issuer"`
	TokenEndpoint string `json:"token_endpoint"`
	Resource      string `json:"resource"`
	Scope         string `json:"scope"`
	registered
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires"` // zero if not known
}

func (k *kept) save(file string) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return privatefile.Replace(file, string(text)+"\n")
}

// granted is the answer of a token endpoint.
type granted struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Expires json.RawMessage `json:"expires_in"`
	Refresh string          `json:"refresh_token"`
	Scope   string          `json:"scope"`
}

// token asks the token endpoint.
func (w *web) token(ctx context.Context, k *kept, form url.Values) error {
	form.Set("resource", k.Resource)
	form.Set("client_id", k.ClientID)
	basic := k.AuthMethod == "client_secret_basic" || k.AuthMethod == "" && k.ClientSecret != ""
	if k.ClientSecret != "" && !basic {
		form.Set("client_secret", k.ClientSecret)
	}
	r, err := w.request(ctx, http.MethodPost, k.TokenEndpoint, "application/x-www-form-urlencoded", form.Encode())
	if err != nil {
		return err
	}
	if basic {
		r.SetBasicAuth(url.QueryEscape(k.ClientID), url.QueryEscape(k.ClientSecret))
	}
	var g granted
	if err := w.do(r, &g); err != nil {
		return fmt.Errorf("get a token from %s: %w", k.Issuer, err)
	}
	if g.Access == "" || !strings.EqualFold(g.Type, "Bearer") || strings.ContainsFunc(g.Access, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return fmt.Errorf("%s gave no bearer token", k.Issuer)
	}
	k.Access, k.Expires = g.Access, time.Time{}
	if seconds := g.seconds(); seconds > 0 {
		k.Expires = time.Now().Add(time.Duration(seconds) * time.Second).UTC()
	}
	if g.Refresh != "" {
		k.Refresh = g.Refresh
	}
	if g.Scope != "" {
		k.Scope = g.Scope
	}
	return nil
}

// seconds is the lifetime, 0 if it is not known. Some send it as a text.
func (g *granted) seconds() int64 {
	var n float64
	if json.Unmarshal([]byte(strings.Trim(string(g.Expires), `"`)), &n) != nil || n <= 0 || math.IsNaN(n) {
		return 0
	}
	return int64(min(n, 10*365*24*3600))
}

// early is how long before its end a token counts as ended.
const early = 30 * time.Second

// Source gives the access token of a server, refreshed when it is due. Several processes can share its file.
type Source struct {
	file, server string
	client       *http.Client
	mu           sync.Mutex // one refresh at a time
}

// Open reads no file yet: a login that comes later counts. The tokens of another server's address are not used.
func Open(file, server string, client *http.Client) *Source {
	return &Source{file: file, server: server, client: client}
}

// Token fits mcpclient.HTTPOptions.Token. It is ErrNoLogin where there is none, or where it cannot be refreshed.
func (s *Source) Token(ctx context.Context) (string, error) {
	k, err := s.read()
	if err != nil || k.fresh() {
		return k.Access, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if k, err = s.read(); err != nil || k.fresh() { // another one was faster, and a refresh token is good for one
		return k.Access, err
	}
	if k.Refresh == "" {
		return "", fmt.Errorf("%w: the login has expired", ErrNoLogin)
	}
	return s.refresh(ctx, k)
}

func (k *kept) fresh() bool { return k.Expires.IsZero() || time.Until(k.Expires) > early }

func (s *Source) read() (*kept, error) {
	text, err := privatefile.ReadPrivate(s.file)
	k := &kept{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, ErrNoLogin
	case err != nil:
		return k, err
	case json.Unmarshal(text, k) != nil:
		return &kept{}, fmt.Errorf("%w: the file %s cannot be read", ErrNoLogin, s.file)
	case k.Server != s.server || k.Access == "":
		return &kept{}, fmt.Errorf("%w: the login in %s is for another address", ErrNoLogin, s.file)
	}
	return k, nil
}

func (s *Source) refresh(ctx context.Context, k *kept) (string, error) {
	w, err := newWeb(s.client, s.server)
	if err != nil {
		return "", err
	}
	err = w.token(ctx, k, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {k.Refresh}})
	var r *refused
	if errors.As(err, &r) && r.Status < http.StatusInternalServerError && r.Status != http.StatusTooManyRequests {
		return "", fmt.Errorf("%w: the login has expired: %w", ErrNoLogin, err)
	}
	if err != nil {
		return "", err
	}
	return k.Access, k.save(s.file)
}

// lock keeps other processes from refreshing meanwhile, where the system has locks.
func (s *Source) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(s.file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := durable.Lock(ctx, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = durable.Unlock(file); file.Close() }, nil
}
