package oauth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/auth/oauth"
)

// fetches is how many requests one look for keys is: the metadata of RFC 8414, which is not there, that of OpenID, the keys.
const fetches = 3

// Nothing that cannot be good has the issuer asked.
func TestTheIssuerIsAskedForWhatCouldBeGood(t *testing.T) {
	i := newIssuer(t)
	s := rsaSigner(0, "k")
	i.publish(s)
	v := i.verifier()
	for _, token := range []string{
		"", "opaque", i.sign(s, "at+jwt", i.claims(object{"aud": "x"})), i.sign(s, "at+jwt", i.claims(object{"exp": 1})), i.sign(s, "logout+jwt", i.claims(nil)),
	} {
		_, _ = v.Authenticate(t.Context(), token)
	}
	check.Equal(t, i.asked(), 0, "requests to the issuer")
	good := i.sign(s, "at+jwt", i.claims(nil))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := v.Authenticate(t.Context(), good)
			check.That(t, err == nil, "a good token: %v", err)
		})
	}
	all.Wait()
	check.Equal(t, i.asked(), fetches, "requests to the issuer for twenty tokens at once")
}

func TestRotatedKeys(t *testing.T) {
	i := newIssuer(t)
	old, next := rsaSigner(0, "old"), rsaSigner(1, "next")
	i.publish(old)
	v := i.verifier()
	is := func(s signer, want error, when string) {
		t.Helper()
		_, err := v.Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(nil)))
		check.That(t, errors.Is(err, want), "%s, %s: %v", s.kid, when, err)
	}
	is(old, nil, "at first")
	i.publish(next)
	is(next, auth.ErrUnknown, "before the issuer may be asked again")
	i.later(oauth.RetryAfter)
	is(next, nil, "after that")
	is(old, auth.ErrUnknown, "when it is published no more")
	i.publish(next, old)
	i.later(oauth.RetryAfter)
	is(old, nil, "when it is published again")
	i.publish(next)
	i.later(oauth.RefreshAfter)
	is(old, auth.ErrUnknown, "when the keys are old")
}

// Who sends unknown kids has the issuer asked once in a while, whatever is sent.
func TestUnknownKidsAskRarely(t *testing.T) {
	i := newIssuer(t)
	s := rsaSigner(0, "k")
	i.publish(s)
	v := i.verifier()
	for n := range 50 {
		_, err := v.Authenticate(t.Context(), i.sign(signer{fmt.Sprint("kid", n), s.alg, s.key}, "at+jwt", i.claims(nil)))
		check.That(t, errors.Is(err, auth.ErrUnknown), "kid %d: %v", n, err)
	}
	check.Equal(t, i.asked(), fetches, "requests to the issuer")
}

func TestIssuerAway(t *testing.T) {
	i := newIssuer(t)
	s, other := rsaSigner(0, "k"), rsaSigner(1, "other")
	i.publish(s)
	i.change(func() { i.away = true })
	v := i.verifier()
	is := func(s signer, want error, when string) {
		t.Helper()
		_, err := v.Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(nil)))
		check.That(t, errors.Is(err, want), "%s: %v", when, err)
	}
	is(s, auth.ErrUnavailable, "before there are keys")
	i.change(func() { i.away = false })
	is(s, auth.ErrUnavailable, "at once after it")
	i.later(oauth.RetryAfter)
	is(s, nil, "when it is back")
	i.change(func() { i.away = true })
	for range 4 {
		i.later(oauth.RefreshAfter)
		is(s, nil, "away, with keys that are fresh enough")
	}
	is(other, auth.ErrUnavailable, "away, of a key that may be new")
	i.later(oauth.KeyLife)
	is(s, auth.ErrUnavailable, "away for too long")
	i.later(-2 * oauth.KeyLife)
	is(s, auth.ErrUnavailable, "with the clock put back")
	i.change(func() { i.away = false })
	i.later(oauth.RetryAfter)
	is(s, nil, "when it is back again")
}

// What the issuer's addresses say is believed as far as it is the issuer's own.
func TestMetadata(t *testing.T) {
	s := rsaSigner(0, "k")
	to := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	const place = "/.well-known/openid-configuration"
	for name, c := range map[string]struct {
		change func(i *issuer)
		good   bool
	}{
		"as it is":                {func(*issuer) {}, true},
		"another issuer":          {func(i *issuer) { i.named = "https://evil.example" }, false},
		"with a slash":            {func(i *issuer) { i.named = i.url + "/" }, false},
		"RFC 8414 first":          {func(i *issuer) { i.answers["/.well-known/oauth-authorization-server"] = i.metadata() }, true},
		"keys without encryption": {func(i *issuer) { i.answers[place] = to(`{"issuer":"` + i.url + `","jwks_uri":"http://keys.example/"}`) }, false},
		"keys in a file":          {func(i *issuer) { i.answers[place] = to(`{"issuer":"` + i.url + `","jwks_uri":"file:///etc/passwd"}`) }, false},
		"no keys named":           {func(i *issuer) { i.answers[place] = to(`{"issuer":"` + i.url + `"}`) }, false},
		"no JSON":                 {func(i *issuer) { i.answers[place] = to(`<html>`) }, false},
		"a redirect": {func(i *issuer) {
			i.answers[place] = http.RedirectHandler(i.url+"/other", http.StatusFound).ServeHTTP
			i.answers["/other"] = i.metadata()
		}, false},
		"keys by a redirect": {func(i *issuer) {
			document, _ := json.Marshal(jose.JSONWebKeySet{Keys: i.keys})
			i.answers["/jwks"] = http.RedirectHandler(i.url+"/other", http.StatusFound).ServeHTTP
			i.answers["/other"] = to(string(document))
		}, false},
		"large metadata": {func(i *issuer) {
			i.answers[place] = to(`{"issuer":"` + i.url + `","jwks_uri":"` + i.url + `/jwks"}` + strings.Repeat(" ", 300<<10))
		}, false},
		"large keys": {func(i *issuer) {
			document, _ := json.Marshal(jose.JSONWebKeySet{Keys: i.keys})
			i.answers["/jwks"] = to(string(document) + strings.Repeat(" ", 300<<10))
		}, false},
		"keys that are none": {func(i *issuer) {
			i.answers["/jwks"] = to(`{"keys":[{"kty":"oct","kid":"k","k":"c2VjcmV0"},{"kty":"x"},7]}`)
		}, false},
		"keys for encryption":       {func(i *issuer) { i.keys[0].Use = "enc" }, false},
		"a key of another use":      {func(i *issuer) { i.keys[0].Algorithm = "PS256" }, false},
		"a key beside unknown ones": {func(i *issuer) { i.keys = append(i.keys, ecSigner(i.t, "k").public()) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.publish(s)
			i.change(func() { c.change(i) })
			_, err := i.verifier().Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(nil)))
			check.That(t, (err == nil) == c.good, "%v", err)
		})
	}
}

func (i *issuer) metadata() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.url, i.url+"/jwks")
	}
}

// A key that can be broken is as good as none.
func TestWeakKeys(t *testing.T) {
	for bits, good := range map[int]bool{1024: false, 2048: true} {
		i := newIssuer(t)
		s := signer{"k", jose.RS256, check.Value(rsa.GenerateKey(rand.Reader, bits))(t)}
		i.publish(s, ecSigner(t, "other"))
		_, err := i.verifier().Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(nil)))
		check.That(t, (err == nil) == good, "%d bits: %v", bits, err)
	}
}

// An issuer with a path has its metadata in three places.
func TestIssuerWithAPath(t *testing.T) {
	s := rsaSigner(0, "k")
	for _, place := range []string{
		"/.well-known/oauth-authorization-server/realms/a", "/.well-known/openid-configuration/realms/a", "/realms/a/.well-known/openid-configuration",
	} {
		for _, slash := range []string{"", "/"} {
			i := newIssuer(t)
			i.publish(s)
			name := i.url + "/realms/a" + slash
			i.change(func() {
				i.answers[place] = func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, name, i.url+"/jwks")
				}
			})
			who, err := i.verifierFor(name, resource).Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(object{"iss": name})))
			check.That(t, err == nil && strings.HasSuffix(who.Name, "/realms/a"), "%s: %+v, %v", place, who, err)
		}
	}
}

// An issuer that does not answer holds up nobody for long: a request waits as long as its client may.
func TestIssuerThatHangs(t *testing.T) {
	i := newIssuer(t)
	s := rsaSigner(0, "k")
	i.publish(s)
	hang := make(chan struct{})
	i.answers["/jwks"] = func(http.ResponseWriter, *http.Request) { <-hang }
	t.Cleanup(func() { close(hang) })
	token := i.sign(s, "at+jwt", i.claims(nil))
	now := i.clock() // whose lock the request that hangs has
	v := check.Value(oauth.New(oauth.Options{Issuer: i.url, Resource: resource, Clock: func() time.Time { return now }}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := v.Authenticate(ctx, token)
	check.That(t, errors.Is(err, auth.ErrUnavailable), "%v", err)
}

// way leads to an issuer, or nowhere.
type way struct {
	*issuer
	lost atomic.Bool
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.lost.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// An issuer of which nothing is heard holds up who has a known key once, not for as long as it is away.
func TestIssuerThatIsLost(t *testing.T) {
	s := rsaSigner(0, "k")
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{t: t, url: "https://auth.example.com"}
		i.publish(s)
		w := &way{issuer: i}
		v := check.Value(oauth.New(oauth.Options{Issuer: i.url, Resource: resource, Client: &http.Client{Transport: w}}))(t)
		took := func() time.Duration {
			i.change(func() { i.now = time.Now() })
			began := time.Now()
			_, err := v.Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(nil)))
			check.That(t, err == nil, "%v", err)
			return time.Since(began)
		}
		check.Equal(t, took(), 0, "with the issuer there")
		w.lost.Store(true)
		time.Sleep(oauth.RefreshAfter)
		check.That(t, took() > 0, "newer keys are not waited for")
		for range 3 {
			time.Sleep(time.Minute)
			check.Equal(t, took(), 0, "while it is lost")
		}
		w.lost.Store(false)
		time.Sleep(time.Minute)
		check.Equal(t, took(), 0, "when it is back")
		time.Sleep(oauth.RefreshAfter)
		check.Equal(t, took(), 0, "with keys of then")
	})
}
