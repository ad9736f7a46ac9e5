package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

func TestTokens(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	tokens := check.Value(auth.NewTokens([]auth.Token{
		{Name: "ci", Token: "0123456789abcdef", Role: auth.Agent},
		{Name: "old", Token: "old-old-old-old-old", Role: auth.Operator, Expires: now},
		{Name: "new", Token: "new-new-new-new-new", Role: auth.Auditor, Expires: now.Add(time.Second)},
	}, func() time.Time { return now }))(t)
	for token, want := range map[string]struct {
		who auth.Principal
		err error
	}{
		"0123456789abcdef":    {auth.Principal{Name: "ci", Role: auth.Agent}, nil},
		"new-new-new-new-new": {auth.Principal{Name: "new", Role: auth.Auditor}, nil},
		"old-old-old-old-old": {err: auth.ErrUnknown},
		"0123456789abcdeF":    {err: auth.ErrUnknown},
		"0123456789abcdef ":   {err: auth.ErrUnknown},
		"ci":                  {err: auth.ErrUnknown},
		"":                    {err: auth.ErrMissing},
	} {
		who, err := tokens.Authenticate(t.Context(), token)
		check.That(t, who == want.who && errors.Is(err, want.err), "%q: %+v, %v", token, who, err)
	}
	_, err := tokens.Authenticate(t.Context(), "old-old-old-old-old")
	check.That(t, strings.Contains(err.Error(), "2027-01-01"), "an expired token: %v", err)
}

func TestTokensAreDifferent(t *testing.T) {
	const secret = "0123456789abcdef"
	for _, tokens := range [][]auth.Token{
		{{Name: "a", Token: secret}, {Name: "a", Token: secret + "x"}},
		{{Name: "a", Token: secret}, {Name: "b", Token: secret}},
		{{Name: "a", Token: ""}},
	} {
		_, err := auth.NewTokens(tokens, nil)
		check.That(t, err != nil && !strings.Contains(err.Error(), secret), "%+v: %v", tokens, err)
	}
}

// What is expired is known: nobody else is asked about it, and nobody but its own list about a token that is good.
func TestOrAsksAboutWhatIsNotKnown(t *testing.T) {
	tokens := check.Value(auth.NewTokens([]auth.Token{
		{Name: "ci", Token: "good"}, {Name: "old", Token: "expired", Expires: time.Unix(1, 0)},
	}, nil))(t)
	asked := 0
	both := tokens.Or(func(_ context.Context, token string) (auth.Principal, error) {
		asked++
		return auth.Principal{Name: token}, nil
	})
	for _, token := range []string{"good", "expired", ""} {
		_, _ = both(t.Context(), token)
	}
	check.Equal(t, asked, 0, "questions about tokens that are known")
	who, err := both(t.Context(), "other")
	check.That(t, who.Name == "other" && err == nil, "%+v, %v", who, err)
}

func TestRoles(t *testing.T) {
	for role, want := range map[auth.Role][2]bool{
		"": {true, true}, auth.Operator: {true, true}, auth.Agent: {false, true}, auth.Auditor: {false, false}, "Operator": {false, false}, "root": {false, false},
	} {
		check.Equal(t, [2]bool{role.Answers(), role.Changes()}, want, "%q answers, changes", role)
	}
}

func TestNamesOfTokens(t *testing.T) {
	for _, name := range []string{"", "operator", "a@b", "local:a", "1", "a b", "ä", "a\n", strings.Repeat("a", 65)} {
		check.That(t, auth.CheckName(name) != nil, "%q is a name", name)
	}
	check.OK(t, auth.CheckName("ci-2.build_a"))
	check.That(t, strings.HasPrefix(auth.Local(), auth.LocalPrefix) && auth.Printable(auth.Local()), "%q", auth.Local())
}

func TestRecordedNames(t *testing.T) {
	for name, want := range map[string]string{"": "", "ci": "ci", "a@b/c": "a@b/c", "Ada L": "Ada%20L", "a\nb": "a%0Ab", "\xff": "%FF"} {
		check.Equal(t, auth.Recorded(name), want)
	}
	long := auth.Recorded(strings.Repeat("é", 200))
	check.That(t, strings.HasPrefix(long, "sha256:") && len(long) == 71 && long != auth.Recorded(strings.Repeat("è", 200)), "%s", long)
}

func TestURLs(t *testing.T) {
	for _, url := range []string{
		"https://auth.example.com", "https://tenant.example.com/", "https://a.example/realms/x", "http://127.0.0.1:3000", "http://[::1]:1/mcp", "http://localhost:3000",
	} {
		check.OK(t, auth.CheckURL(url))
	}
	for _, url := range []string{
		"", "auth.example.com", "http://auth.example.com", "https://", "https:///x", "ftp://a.example", "https://u:p@a.example", "https://a.example?x=1",
		"https://a.example#x", "https://a.example/@x", "https://a.example/\"x", "https://a.example/ x", "https://a.example/\n", "http://localhost.example.com",
		"https://a.example/" + strings.Repeat("x", 200),
	} {
		check.That(t, auth.CheckURL(url) != nil, "%q can be an issuer", url)
	}
}
