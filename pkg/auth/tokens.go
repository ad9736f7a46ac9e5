package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// Token is a fixed bearer token.
type Token struct {
	Name  string
	Token string
	Role  Role
	// Expires is from when on it is refused; the zero time is never.
	Expires time.Time
}

// Expired tells whether it is refused at a time.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// DefaultName is that of the principal whose token is not in the list of named ones.
const DefaultName = "operator"

// validName is what a token can be called. The names are in records, so they are short and have nothing that could be
// taken for a subject of an issuer.
var validName = lazy.Regexp(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// Tokens are fixed tokens. They are not changed.
type Tokens struct {
	all []kept
	now func() time.Time
}

type kept struct {
	Token
	sum [sha256.Size]byte
}

// NewTokens takes tokens whose names and texts are all different. now is time.Now if it is nil.
func NewTokens(tokens []Token, now func() time.Time) (*Tokens, error) {
	if now == nil {
		now = time.Now
	}
	t := &Tokens{now: now}
	names, sums := map[string]bool{}, map[[sha256.Size]byte]string{}
	for _, token := range tokens {
		if token.Token == "" {
			return nil, fmt.Errorf("the token %s is empty", token.Name)
		}
		sum := sha256.Sum256([]byte(token.Token))
		if names[token.Name] {
			return nil, fmt.Errorf("two tokens have the name %s", token.Name)
		}
		if other, twice := sums[sum]; twice {
			return nil, fmt.Errorf("%s and %s have the same token", other, token.Name)
		}
		names[token.Name], sums[sum] = true, token.Name
		t.all = append(t.all, kept{token, sum})
	}
	return t, nil
}

// CheckName tells what is wrong with the name of a token.
func CheckName(name string) error {
	switch {
	case !validName().MatchString(name):
		return errors.New("a name has up to 64 letters, digits, dots, dashes and underscores, and begins with a letter")
	case name == DefaultName:
		return fmt.Errorf("%s is the name of auth.token", DefaultName)
	}
	return nil
}

// Authenticate implements [Authenticate]. It takes the same time whichever of the tokens is sent, and for one that is none.
func (t *Tokens) Authenticate(_ context.Context, token string) (Principal, error) {
	if token == "" {
		return Principal{}, ErrMissing
	}
	sum := sha256.Sum256([]byte(token))
	found := -1 // the last, as names and texts are all different
	for i := range t.all {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t.all[i].sum[:]), i, found)
	}
	if found < 0 {
		return Principal{}, ErrUnknown
	}
	k := t.all[found]
	if k.Expired(t.now()) {
		return Principal{}, &Rejected{ErrUnknown, "the token expired at " + k.Expires.UTC().Format(time.RFC3339)}
	}
	return Principal{k.Name, k.Role}, nil
}

// Or asks next about tokens that are not among these.
func (t *Tokens) Or(next Authenticate) Authenticate {
	return func(ctx context.Context, token string) (Principal, error) {
		who, err := t.Authenticate(ctx, token)
		if err == ErrUnknown { // and not an expired one, which is known
			return next(ctx, token)
		}
		return who, err
	}
}
