package oauth

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

const (
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// leeway is how far the issuer's clock and ours may be apart.
	leeway = 30 * time.Second
)

// algorithms are those of which the key that verifies cannot sign.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// claims are what is looked at of a token. Names are exact, and none may stand twice.
type claims struct {
	Issuer    string         `json:"iss"`
	Subject   string         `json:"sub"`
	Audience  texts          `json:"aud"`
	Expires   float64        `json:"exp"`
	NotBefore float64        `json:"nbf"`
	IssuedAt  float64        `json:"iat"`
	Scope     texts          `json:"scope"`
	Scp       texts          `json:"scp"`
	Bound     jsontext.Value `json:"cnf"`

	// What tells an ID token, or another one of these issuers, from an access token.
	Nonce    jsontext.Value `json:"nonce"`
	AtHash   jsontext.Value `json:"at_hash"`
	CHash    jsontext.Value `json:"c_hash"`
	Events   jsontext.Value `json:"events"`
	Typ      string         `json:"typ"`       // Keycloak: Bearer, ID, Refresh, Logout
	TokenUse string         `json:"token_use"` // Cognito: access, id

	declared bool // by its header, to be an access token
}

// texts is one text, or a list of them.
type texts []string

func (t *texts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		*t = texts{""}
		return json.UnmarshalDecode(d, &(*t)[0])
	}
	return json.UnmarshalDecode(d, (*[]string)(t))
}

func invalid(text string) error { return &auth.Rejected{Kind: auth.ErrUnknown, Text: text} }

// Authenticate implements [auth.Authenticate].
func (i *Issuer) Authenticate(ctx context.Context, token string) (auth.Principal, error) {
	if token == "" {
		return auth.Principal{}, auth.ErrMissing
	}
	signed, c, err := i.read(token)
	if err != nil {
		return auth.Principal{}, err
	}
	// Before the issuer is asked for a key, which costs more: nothing of this lets anybody in.
	if err := i.judge(c); err != nil {
		return auth.Principal{}, err
	}
	if err := i.verify(ctx, signed); err != nil {
		return auth.Principal{}, err
	}
	role, ok := roleOf(slices.Concat(c.Scope, c.Scp))
	if !ok {
		return auth.Principal{}, &auth.Rejected{Kind: auth.ErrScope, Text: "the token has none of the scopes " + strings.Join(scopes(), ", ")}
	}
	return auth.Principal{Name: c.Subject + "@" + i.authority, Role: role}, nil
}

// read takes a token apart. The claims are those of the bytes that are signed.
func (i *Issuer) read(token string) (*jose.JSONWebSignature, claims, error) {
	var c claims
	if len(token) > maxToken {
		return nil, c, invalid("the token is too long")
	}
	if strings.Count(token, ".") != 2 {
		return nil, c, auth.ErrUnknown // an opaque one, and no fixed one either
	}
	signed, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil || len(signed.Signatures) != 1 {
		return nil, c, invalid("the token is no JWT with an asymmetric signature")
	}
	if err := json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &c); err != nil {
		return nil, c, invalid("the claims of the token cannot be read")
	}
	// RFC 9068 wants at+jwt, and most issuers write JWT. Others are of other tokens (logout+jwt, dpop+jwt).
	typ, has := signed.Signatures[0].Header.ExtraHeaders[jose.HeaderType]
	text, _ := typ.(string)
	switch strings.TrimPrefix(strings.ToLower(text), "application/") {
	case accessType:
		c.declared = true
	case "jwt":
	default:
		if has {
			return nil, c, invalid("the token is of another type than at+jwt and JWT")
		}
	}
	return signed, c, nil
}

// accessType is how RFC 9068 has an access token say that it is one.
const accessType = "at+jwt"

// judge holds the claims to who we are and to the time.
func (i *Issuer) judge(c claims) error {
	now := i.now()
	switch {
	case c.Issuer != i.url:
		return invalid("the token is of another issuer")
	case !slices.ContainsFunc(c.Audience, func(aud string) bool { return slices.Contains(i.audiences, aud) }):
		return invalid("the token is for another audience; ask for one with resource=" + i.audiences[0])
	case !moment(c.Expires) || c.Expires == 0:
		return invalid("the token does not say when it expires")
	case !now.Before(at(c.Expires).Add(leeway)):
		return invalid("the token has expired")
	case !moment(c.NotBefore) || !moment(c.IssuedAt) || now.Add(leeway).Before(at(max(c.NotBefore, c.IssuedAt))):
		return invalid("the token is not valid yet")
	case c.isOther():
		return invalid("the token is an ID token or another one, and no access token")
	case len(c.Bound) > 0:
		return invalid("the token is bound to a key of its client, which is not looked for here; ask for a bearer token")
	case c.Subject == "" || len(c.Subject) > auth.MaxSubject || !auth.Printable(c.Subject):
		return invalid("the subject of the token is not 1 to 255 visible ASCII characters")
	case strings.HasPrefix(c.Subject, auth.LocalPrefix):
		return invalid("the subject of the token begins with " + auth.LocalPrefix + ", as the names of who is at the machine do")
	}
	return nil
}

// isOther recognises what is no access token by what only others have. Old Keycloaks put a nonce into access tokens.
func (c claims) isOther() bool {
	bearer := strings.EqualFold(c.Typ, "Bearer") || strings.EqualFold(c.Typ, accessType)
	return len(c.AtHash)+len(c.CHash)+len(c.Events) > 0 ||
		len(c.Nonce) > 0 && !c.declared && !bearer ||
		c.Typ != "" && !bearer ||
		c.TokenUse != "" && c.TokenUse != "access"
}

// moment tells whether a number of seconds is a time that can be compared.
func moment(seconds float64) bool { return seconds >= 0 && seconds < math.MaxUint32*1000 }

func at(seconds float64) time.Time { return time.Unix(int64(seconds), 0) }

// verify looks for a key of the issuer that has signed.
func (i *Issuer) verify(ctx context.Context, signed *jose.JSONWebSignature) error {
	header := signed.Signatures[0].Header
	fitting, err := i.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return err
	}
	for _, key := range fitting {
		if _, err := signed.Verify(key.Key); err == nil {
			return nil
		}
	}
	return invalid("the token is not signed by its issuer")
}

func scopes() (all []string) {
	for _, role := range auth.Roles() {
		all = append(all, ScopeOf(role))
	}
	return all
}

// roleOf is the strongest role that the scopes give.
func roleOf(granted []string) (auth.Role, bool) {
	given := strings.Fields(strings.Join(granted, " "))
	for _, role := range auth.Roles() {
		if slices.Contains(given, ScopeOf(role)) {
			return role, true
		}
	}
	return "", false
}
