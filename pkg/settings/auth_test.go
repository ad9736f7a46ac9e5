package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

func TestTokens(t *testing.T) {
	m := newMachine(t)
	m.setUser(`auth.tokens:
  - {name: ci, token: "0123456789abcdef", expires: 2030-01-01}
  - {name: laptop, token: "fedcba9876543210", role: operator, expires: 2030-01-01T12:00:00+02:00}
  - {name: eve, token: "aaaaaaaaaaaaaaaa", role: auditor}
`)
	var got []auth.Token
	for _, token := range m.load().Settings.Auth.Tokens {
		got = append(got, token.Auth())
	}
	want := []auth.Token{
		{Name: "ci", Token: "0123456789abcdef", Role: auth.Agent, Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Name: "laptop", Token: "fedcba9876543210", Role: auth.Operator, Expires: time.Date(2030, 1, 1, 10, 0, 0, 0, time.UTC)},
		{Name: "eve", Token: "aaaaaaaaaaaaaaaa", Role: auth.Auditor},
	}
	check.Equal(t, len(got), len(want))
	for i := range want {
		check.That(t, got[i].Expires.Equal(want[i].Expires), "%s expires at %v", got[i].Name, got[i].Expires)
		got[i].Expires, want[i].Expires = time.Time{}, time.Time{}
		check.Equal(t, got[i], want[i])
	}
}

// A mistake in a token stops the server, and its text is in no message.
func TestMistakesInTokens(t *testing.T) {
	const secret = "s3cr3t-s3cr3t-s3cr3t"
	for name, list := range map[string]string{
		"a name twice":      `[{name: a, token: "` + secret + `"}, {name: a, token: "` + secret + `x"}]`,
		"a token twice":     `[{name: a, token: "` + secret + `"}, {name: b, token: "` + secret + `"}]`,
		"no name":           `[{token: "` + secret + `"}]`,
		"the default name":  `[{name: operator, token: "` + secret + `"}]`,
		"a name with an @":  `[{name: a@b, token: "` + secret + `"}]`,
		"no token":          `[{name: a}]`,
		"a short token":     `[{name: a, token: s3cr3t}]`,
		"a token of two":    `[{name: a, token: "` + secret + ` x"}]`,
		"a number":          `[{name: a, token: 1234567890123456}]`,
		"another role":      `[{name: a, token: "` + secret + `", role: root}]`,
		"no date":           `[{name: a, token: "` + secret + `", expires: soon}]`,
		"no such date":      `[{name: a, token: "` + secret + `", expires: 2030-02-31}]`,
		"an empty date":     `[{name: a, token: "` + secret + `", expires: ""}]`,
		"another key":       `[{name: a, token: "` + secret + `", until: 2030-01-01}]`,
		"a text":            secret,
		"a list of texts":   `["` + secret + `"]`,
		"a mapping by name": `{a: "` + secret + `"}`,
	} {
		m := newMachine(t)
		m.setUser("auth.tokens: " + list + "\n")
		_, err := m.tryLoad()
		check.That(t, err != nil && strings.Contains(err.Error(), "auth.tokens") && !strings.Contains(err.Error(), "s3cr3t") && !strings.Contains(err.Error(), "1234567890123456"), "%s: %v", name, err)
		m = newMachine(t)
		m.environ = append(m.environ, "ORCHESTRA_AUTH_TOKENS="+list)
		_, err = m.tryLoad()
		check.That(t, err != nil && strings.Contains(err.Error(), "auth.tokens") && !strings.Contains(err.Error(), "s3cr3t") && !strings.Contains(err.Error(), "1234567890123456"), "%s, in the environment: %v", name, err)
	}
}

// A workspace lets nobody in, and names no issuer.
func TestAWorkspaceLetsNobodyIn(t *testing.T) {
	for _, line := range []string{
		`auth.tokens: [{name: evil, token: "0123456789abcdef"}]`, "auth.issuer: https://evil.example", "auth.resource: https://evil.example/mcp",
	} {
		m := newMachine(t)
		m.setWorkspace(line + "\n")
		loaded := m.load()
		s := loaded.Settings.Auth
		check.That(t, len(s.Tokens) == 0 && s.Issuer == "" && s.Resource == "" && len(loaded.Withheld) == 1, "%s: %+v, withheld %v", line, s, loaded.Withheld)
		check.That(t, !strings.Contains(loaded.Withheld[0].String(), "0123456789"), "%v", loaded.Withheld)
	}
}

func TestIssuerIsAnAddress(t *testing.T) {
	for _, key := range []string{"auth.issuer", "auth.resource"} {
		for value, good := range map[string]bool{"https://a.example/x": true, "http://127.0.0.1:1": true, "http://a.example": false, "a.example": false, "https://a.example?x": false} {
			m := newMachine(t)
			m.setUser(key + ": " + value + "\n")
			_, err := m.tryLoad()
			check.That(t, (err == nil) == good, "%s: %s: %v", key, value, err)
		}
	}
}
