package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

const (
	// refreshAfter is how old keys may be that are used without asking for newer ones, and keyLife how old any may be.
	refreshAfter = 15 * time.Minute
	keyLife      = 12 * time.Hour
	// retryAfter is the least time between two fetches, fetchTime the longest that one takes.
	retryAfter = 10 * time.Second
	fetchTime  = 10 * time.Second
	// renewTime is how long a token that a known key has signed waits for newer keys, where the last fetch has not failed.
	renewTime = 2 * time.Second

	// maxKeys bounds the keys of an issuer, and maxFitting those that are tried for one token.
	maxKeys    = 64
	maxFitting = 4
)

// keys are those of the issuer, as they were last fetched.
type keys struct {
	fetcher
	now func() time.Time
	log zerolog.Logger

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time     // when the set was asked for; zero for never
	tried   time.Time     // when the last fetch began
	failed  error         // of the last fetch
	flight  chan struct{} // of the fetch that runs, closed at its end; nil for none
}

func newKeys(o Options) *keys {
	// Of times on the wall, so that a machine that slept knows it.
	now := func() time.Time { return o.Clock().Round(0) }
	return &keys{fetcher: newFetcher(o), now: now, log: o.Logger}
}

// find gives the keys by which a signature may be verified: those of its kid, or the only one that can be where it has none.
func (k *keys) find(ctx context.Context, kid, algorithm string) ([]jose.JSONWebKey, error) {
	fitting, fresh, running := k.look(kid, algorithm)
	if running != nil && !fresh {
		patience := ctx
		if len(fitting) > 0 {
			var cancel context.CancelFunc
			patience, cancel = context.WithTimeout(ctx, renewTime)
			defer cancel()
		}
		select {
		case <-running:
		case <-patience.Done():
		}
		fitting, _, _ = k.look(kid, algorithm)
	}
	if len(fitting) > 0 {
		return fitting, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil || k.flight != nil || k.age() >= keyLife {
		return nil, &auth.Rejected{Kind: auth.ErrUnavailable, Text: "the keys of the issuer cannot be fetched now"}
	}
	return nil, invalid("the token is signed by a key that its issuer does not publish")
}

// look gives what there is, and whether it is new enough. If not, running is the fetch that is worth waiting for; nil for
// none. It begins one where the last is long enough ago.
func (k *keys) look(kid, algorithm string) (fitting []jose.JSONWebKey, fresh bool, running <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.age()
	if age < keyLife {
		fitting = fittingKeys(k.set, kid, algorithm)
	}
	if len(fitting) > 0 && age < refreshAfter {
		return fitting, true, nil
	}
	if since := k.now().Sub(k.tried); k.flight == nil && (k.tried.IsZero() || since < 0 || since >= retryAfter) {
		k.flight, k.tried = make(chan struct{}), k.now()
		go k.fetch(k.tried, k.flight)
	}
	if len(fitting) > 0 && k.failed != nil { // an issuer that is away would hold up each request until it is back
		return fitting, false, nil
	}
	return fitting, false, k.flight
}

// age is that of the keys. Those of a time to come are as good as none: the clock was put back. It needs the lock.
func (k *keys) age() time.Duration {
	age := k.now().Sub(k.fetched)
	if k.fetched.IsZero() || age < 0 {
		return keyLife
	}
	return age
}

// fetch gets the keys, whoever still waits for them.
func (k *keys) fetch(began time.Time, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	set, err := k.keySet(ctx)
	if err != nil {
		k.log.Warn().Err(err).Str("issuer", k.issuer).Msg("the keys of the issuer cannot be fetched")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed = err; err == nil {
		k.set, k.fetched = set, began
	}
	k.flight = nil
	close(done)
}

// fittingKeys are those that can have made such a signature.
func fittingKeys(set []jose.JSONWebKey, kid, algorithm string) (fitting []jose.JSONWebKey) {
	for _, key := range set {
		if (kid == "" || key.KeyID == kid) && (key.Algorithm == "" || key.Algorithm == algorithm) && signs(key.Key, algorithm) {
			fitting = append(fitting, key)
		}
	}
	if kid == "" && len(fitting) > 1 {
		return nil // which one is for the token to say
	}
	return fitting[:min(len(fitting), maxFitting)]
}

// signs tells whether a key is of the kind of an algorithm.
func signs(key any, algorithm string) bool {
	switch key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return strings.HasPrefix(algorithm, "ES")
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}

// readKeys takes the public keys for signatures out of a JWK set. What is not known is left out, as RFC 7517 says.
func readKeys(document []byte) (set []jose.JSONWebKey, err error) {
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &all); err != nil {
		return nil, fmt.Errorf("its key set cannot be read: %v", err)
	}
	for _, raw := range all.Keys[:min(len(all.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") && strong(key.Key) {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("its key set has no public key for signatures")
	}
	return set, nil
}

// strong leaves out RSA keys that can be broken, and those that take long.
func strong(key any) bool {
	public, isRSA := key.(*rsa.PublicKey)
	return !isRSA || public.N.BitLen() >= 2048 && public.N.BitLen() <= 8192
}
