package oauth_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/auth/oauth"
)

func TestGoodTokens(t *testing.T) {
	i := newIssuer(t)
	first, second := rsaSigner(0, "rsa"), ecSigner(t, "ec")
	i.publish(first, second)
	v := i.verifier()
	host := strings.TrimPrefix(i.url, "http://")
	for name, c := range map[string]struct {
		token string
		role  auth.Role
	}{
		"RFC 9068":                {i.sign(first, "at+jwt", i.claims(nil)), auth.Agent},
		"its media type":          {i.sign(first, "application/AT+JWT", i.claims(nil)), auth.Agent},
		"JWT":                     {i.sign(first, "JWT", i.claims(nil)), auth.Agent},
		"without a type":          {i.sign(first, "", i.claims(nil)), auth.Agent},
		"elliptic":                {i.sign(second, "at+jwt", i.claims(nil)), auth.Agent},
		"PSS":                     {i.sign(signer{first.kid, jose.PS256, first.key}, "at+jwt", i.claims(nil)), auth.Agent},
		"several audiences":       {i.sign(first, "at+jwt", i.claims(object{"aud": []string{"x", resource}})), auth.Agent},
		"scp as a list":           {i.sign(first, "at+jwt", i.claims(object{"scope": nil, "scp": []string{"orchestra:auditor"}})), auth.Auditor},
		"scp as a text":           {i.sign(first, "at+jwt", i.claims(object{"scope": nil, "scp": "a orchestra:operator"})), auth.Operator},
		"the strongest":           {i.sign(first, "at+jwt", i.claims(object{"scope": "orchestra:auditor orchestra:operator orchestra:agent"})), auth.Operator},
		"agent before auditor":    {i.sign(first, "at+jwt", i.claims(object{"scope": "orchestra:auditor orchestra:agent"})), auth.Agent},
		"expired within leeway":   {i.sign(first, "at+jwt", i.claims(object{"exp": i.clock().Add(-oauth.Leeway + time.Second).Unix()})), auth.Agent},
		"from a clock before us":  {i.sign(first, "at+jwt", i.claims(object{"nbf": i.clock().Add(oauth.Leeway).Unix()})), auth.Agent},
		"a nonce, and it says at": {i.sign(first, "at+jwt", i.claims(object{"nonce": "n"})), auth.Agent},
		"Keycloak's":              {i.sign(first, "JWT", i.claims(object{"typ": "Bearer", "nonce": "n"})), auth.Agent},
		"without a kid, ES256":    {i.sign(signer{"", second.alg, second.key}, "at+jwt", i.claims(nil)), auth.Agent},
	} {
		who, err := v.Authenticate(t.Context(), c.token)
		check.That(t, err == nil && who == auth.Principal{Name: "alice@" + host, Role: c.role}, "%s: %+v, %v", name, who, err)
	}
}

func TestRefusedTokens(t *testing.T) {
	i := newIssuer(t)
	known, stranger := rsaSigner(0, "known"), rsaSigner(1, "known")
	i.publish(known)
	v := i.verifier()
	now := i.clock()
	good := i.sign(known, "at+jwt", i.claims(nil))
	changed := func(claims object) string { return i.sign(known, "at+jwt", i.claims(claims)) }
	parts := strings.Split(good, ".")
	public := known.public()
	der := check.Value(x509.MarshalPKIXPublicKey(public.Key))(t)
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	asJWK := check.Value(json.Marshal(public))(t)
	for name, c := range map[string]struct {
		token string
		kind  error
	}{
		"none":                             {"", auth.ErrMissing},
		"opaque":                           {"7f3e9a1c55", auth.ErrUnknown},
		"three parts of nothing":           {"..", auth.ErrUnknown},
		"encrypted":                        {"a.b.c.d.e", auth.ErrUnknown},
		"alg none":                         {part(`{"alg":"none"}`) + "." + parts[1] + ".", auth.ErrUnknown},
		"alg none, signed":                 {part(`{"alg":"none","kid":"known"}`) + "." + parts[1] + "." + parts[2], auth.ErrUnknown},
		"alg None":                         {part(`{"alg":"None"}`) + "." + parts[1] + ".", auth.ErrUnknown},
		"HS256 by the public key, PEM":     {i.sign(signer{"known", jose.HS256, asPEM}, "at+jwt", i.claims(nil)), auth.ErrUnknown},
		"HS256 by the public key, DER":     {i.sign(signer{"known", jose.HS256, der}, "at+jwt", i.claims(nil)), auth.ErrUnknown},
		"HS256 by the public key, JWK":     {i.sign(signer{"known", jose.HS256, asJWK}, "at+jwt", i.claims(nil)), auth.ErrUnknown},
		"another key of the same kid":      {i.sign(stranger, "at+jwt", i.claims(nil)), auth.ErrUnknown},
		"unknown kid":                      {i.sign(signer{"other", jose.RS256, known.key}, "at+jwt", i.claims(nil)), auth.ErrUnknown},
		"its own key in the header":        {i.embedded(stranger), auth.ErrUnknown},
		"changed claims":                   {parts[0] + "." + part(`{"iss":"`+i.url+`"}`) + "." + parts[2], auth.ErrUnknown},
		"cut signature":                    {good[:len(good)-4], auth.ErrUnknown},
		"no signature":                     {parts[0] + "." + parts[1] + ".", auth.ErrUnknown},
		"claims twice":                     {i.sign(known, "at+jwt", twice(t, i.claims(nil))), auth.ErrUnknown},
		"no object":                        {i.sign(known, "at+jwt", `[]`), auth.ErrUnknown},
		"another audience":                 {changed(object{"aud": "https://other.example.com/mcp"}), auth.ErrUnknown},
		"the audience with a slash":        {changed(object{"aud": resource + "/"}), auth.ErrUnknown},
		"a longer audience":                {changed(object{"aud": resource + "2"}), auth.ErrUnknown},
		"the issuer as audience":           {changed(object{"aud": i.url}), auth.ErrUnknown},
		"no audience":                      {changed(object{"aud": nil}), auth.ErrUnknown},
		"an audience that is no text":      {changed(object{"aud": object{"x": resource}}), auth.ErrUnknown},
		"another issuer":                   {changed(object{"iss": "https://other.example.com"}), auth.ErrUnknown},
		"the issuer with a slash":          {changed(object{"iss": i.url + "/"}), auth.ErrUnknown},
		"no issuer":                        {changed(object{"iss": nil}), auth.ErrUnknown},
		"expired":                          {changed(object{"exp": now.Add(-oauth.Leeway).Unix()}), auth.ErrUnknown},
		"without an end":                   {changed(object{"exp": nil}), auth.ErrUnknown},
		"an end that is a text":            {changed(object{"exp": "2099"}), auth.ErrUnknown},
		"an end beyond all":                {changed(object{"exp": 1e300}), auth.ErrUnknown},
		"not yet valid":                    {changed(object{"nbf": now.Add(oauth.Leeway + time.Second).Unix()}), auth.ErrUnknown},
		"valid beyond all":                 {changed(object{"nbf": 1e300}), auth.ErrUnknown},
		"valid before all":                 {changed(object{"iat": -1e300}), auth.ErrUnknown},
		"issued later":                     {changed(object{"iat": now.Add(time.Hour).Unix()}), auth.ErrUnknown},
		"an ID token by its nonce":         {i.sign(known, "JWT", i.claims(object{"nonce": "n"})), auth.ErrUnknown},
		"an ID token by its at_hash":       {i.sign(known, "", i.claims(object{"at_hash": "h"})), auth.ErrUnknown},
		"an ID token by typ":               {changed(object{"typ": "ID"}), auth.ErrUnknown},
		"a refresh token by typ":           {changed(object{"typ": "Refresh"}), auth.ErrUnknown},
		"an ID token by token_use":         {changed(object{"token_use": "id"}), auth.ErrUnknown},
		"a logout token by its type":       {i.sign(known, "logout+jwt", i.claims(nil)), auth.ErrUnknown},
		"a proof":                          {i.sign(known, "dpop+jwt", i.claims(nil)), auth.ErrUnknown},
		"bound to a key":                   {changed(object{"cnf": object{"jkt": "x"}}), auth.ErrUnknown},
		"no subject":                       {changed(object{"sub": nil}), auth.ErrUnknown},
		"a subject with a line break":      {changed(object{"sub": "alice\nbob"}), auth.ErrUnknown},
		"a subject with a space":           {changed(object{"sub": "alice "}), auth.ErrUnknown},
		"a subject that looks like others": {changed(object{"sub": "аlice"}), auth.ErrUnknown},
		"a subject of this machine":        {changed(object{"sub": "local:root"}), auth.ErrUnknown},
		"a long subject":                   {changed(object{"sub": strings.Repeat("a", 256)}), auth.ErrUnknown},
		"no scope":                         {changed(object{"scope": nil}), auth.ErrScope},
		"other scopes":                     {changed(object{"scope": "orchestra:root orchestra: agent ORCHESTRA:AGENT xorchestra:agent"}), auth.ErrScope},
		"long":                             {changed(object{"x": strings.Repeat("x", 20<<10)}), auth.ErrUnknown},
	} {
		who, err := v.Authenticate(t.Context(), c.token)
		check.That(t, errors.Is(err, c.kind) && who == auth.Principal{}, "%s: %+v, %v", name, who, err)
		if said, ok := errors.AsType[*auth.Rejected](err); ok {
			check.That(t, len(said.Text) < 200 && !strings.ContainsAny(said.Text, "\"\\\n") && (c.token == "" || !strings.Contains(said.Text, c.token)), "%s: %q", name, said.Text)
		}
	}
	_, err := v.Authenticate(t.Context(), good)
	check.That(t, err == nil, "a good token after all of them: %v", err)
}

// embedded is a token that brings the key that it is signed with.
func (i *issuer) embedded(s signer) string {
	signing := check.Value(jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: s.key}, &jose.SignerOptions{EmbedJWK: true}))(i.t)
	return check.Value(check.Value(signing.Sign(check.Value(json.Marshal(i.claims(nil)))(i.t)))(i.t).CompactSerialize())(i.t)
}

func twice(t *testing.T, claims object) string {
	text := string(check.Value(json.Marshal(claims))(t))
	return strings.TrimSuffix(text, "}") + `,"sub":"mallory"}`
}

// URL libraries give an address without a path a slash.
func TestAudienceOfAHost(t *testing.T) {
	i := newIssuer(t)
	s := rsaSigner(0, "k")
	i.publish(s)
	for _, ours := range []string{"https://mcp.example.com", "https://mcp.example.com/"} {
		v := i.verifierFor(i.url, ours)
		for _, aud := range []string{"https://mcp.example.com", "https://mcp.example.com/"} {
			_, err := v.Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(object{"aud": aud})))
			check.OK(t, err)
		}
		_, err := v.Authenticate(t.Context(), i.sign(s, "at+jwt", i.claims(nil)))
		check.That(t, err != nil, "%s takes a token for %s", ours, resource)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	for _, algorithm := range []string{"RS256", "ES256"} {
		b.Run(algorithm, func(b *testing.B) {
			i := newIssuer(b)
			s := rsaSigner(0, "k")
			if algorithm == "ES256" {
				s = ecSigner(b, "k")
			}
			i.publish(s)
			v, token := i.verifier(), i.sign(s, "at+jwt", i.claims(nil))
			for b.Loop() {
				if _, err := v.Authenticate(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
