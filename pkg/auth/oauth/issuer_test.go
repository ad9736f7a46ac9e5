package oauth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/auth/oauth"
)

const resource = "https://mcp.example.com/mcp"

// issuer is an authorization server, as far as a resource server sees one.
type issuer struct {
	t   testing.TB
	url string

	mu       sync.Mutex
	now      time.Time
	named    string // by its metadata; "" for as it is
	keys     []jose.JSONWebKey
	away     bool
	answers  map[string]http.HandlerFunc // in place of its own, by path
	requests int
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{t: t, now: time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC), answers: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.requests++
	named := i.named
	if named == "" {
		named = i.url
	}
	answer := i.answers[r.URL.Path]
	switch {
	case i.away:
		w.WriteHeader(http.StatusBadGateway)
	case r.Header.Get("Authorization") != "":
		i.t.Error("a token went to the issuer")
	case answer != nil:
		answer(w, r)
	case r.URL.Path == "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, named, i.url+"/jwks")
	case r.URL.Path == "/jwks":
		check.OK(i.t, json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys}))
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

func (i *issuer) change(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) clock() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

func (i *issuer) later(d time.Duration) { i.change(func() { i.now = i.now.Add(d) }) }

// verifier is what is under test.
func (i *issuer) verifier() *oauth.Issuer { return i.verifierFor(i.url, resource) }

func (i *issuer) verifierFor(url, resource string) *oauth.Issuer {
	return check.Value(oauth.New(oauth.Options{Issuer: url, Resource: resource, Clock: i.clock, Logger: zerolog.Nop()}))(i.t)
}

// signer signs with a key that it may have published.
type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key any
}

var rsaKeys = sync.OnceValue(func() (keys [2]*rsa.PrivateKey) {
	for n := range keys {
		keys[n], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return keys
})

func rsaSigner(n int, kid string) signer { return signer{kid, jose.RS256, rsaKeys()[n]} }

func ecSigner(t testing.TB, kid string) signer {
	return signer{kid, jose.ES256, check.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
}

func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.(crypto.Signer).Public(), KeyID: s.kid, Use: "sig"}
}

func (i *issuer) publish(signers ...signer) {
	i.change(func() {
		i.keys = nil
		for _, s := range signers {
			i.keys = append(i.keys, s.public())
		}
	})
}

type object = map[string]any

// claims are those of a good access token, with changes; nil takes one out.
func (i *issuer) claims(changes object) object {
	now := i.clock().Unix()
	c := object{"iss": i.url, "sub": "alice", "aud": resource, "iat": now, "exp": now + 300, "scope": "openid orchestra:agent", "client_id": "c", "jti": "j"}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func (i *issuer) sign(s signer, typ string, claims any) string {
	options := &jose.SignerOptions{}
	if typ != "" {
		options.WithType(jose.ContentType(typ))
	}
	key := any(s.key)
	if s.kid != "" {
		key = jose.JSONWebKey{Key: s.key, KeyID: s.kid}
	}
	signing := check.Value(jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: key}, options))(i.t)
	payload := check.Value(json.Marshal(claims))(i.t)
	if raw, is := claims.(string); is {
		payload = []byte(raw)
	}
	return check.Value(check.Value(signing.Sign(payload))(i.t).CompactSerialize())(i.t)
}

func part(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
